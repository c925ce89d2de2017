//! HAR files in the forms of several recorders. The numbers are made up; the members are those that the
//! recorders write.

use serde_json::{Value, json};

use super::*;

/// Start of a request, in ms after the page.
fn at(ms: u32) -> String {
    format!("2024-05-05T10:00:{:02}.{:03}Z", ms / 1000, ms % 1000)
}

/// A request that waited 40 ms and received for 10 ms; sizes are unknown.
fn request(ms: u32, url: &str) -> Value {
    json!({
        "pageref": "p", "startedDateTime": at(ms), "time": 50,
        "request": { "method": "GET", "url": url, "headersSize": -1, "bodySize": 0 },
        "response": { "status": 200, "headers": [], "headersSize": -1, "bodySize": -1, "content": {} },
        "timings": { "blocked": -1, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 40, "receive": 10 },
    })
}

/// The entry with other members; `null` removes one.
fn with(mut entry: Value, more: Value) -> Value {
    fn merge(into: &mut Value, more: Value) {
        match (into, more) {
            (Value::Object(own), Value::Object(more)) => {
                for (key, value) in more {
                    if value.is_null() {
                        own.remove(&key);
                    } else {
                        merge(own.entry(key).or_insert(Value::Null), value);
                    }
                }
            }
            (into, more) => *into = more,
        }
    }
    merge(&mut entry, more);
    entry
}

fn log(entries: &[Value]) -> String {
    let page = json!({ "id": "p", "title": "t", "startedDateTime": at(0) });
    json!({ "log": { "version": "1.2", "pages": [page], "entries": entries } }).to_string()
}

fn read(text: &str) -> PageSet {
    har::parse(text, "x.har").unwrap()
}

fn note(text: &str) -> String {
    read(text).note.expect("a recording has a note")
}

/// Head and body of each object.
fn sizes(text: &str) -> Vec<(u64, u64)> {
    objects(&read(text)).map(|o| (o.head.get(), o.body.get())).collect()
}

/// Parent of each object, and the bytes of it that come before.
fn parents(text: &str) -> Vec<(u32, u64)> {
    objects(&read(text)).map(|o| (o.parent, o.after.get())).collect()
}

const A: &str = "https://a.example/";

/// The response with these members.
fn size(response: Value) -> (u64, u64) {
    sizes(&log(&[with(request(0, A), json!({ "response": response }))]))[0]
}

#[test]
fn sizes_are_those_on_the_wire() {
    let content = |size: i64| json!({ "size": size });
    // Chrome over HTTP/2, and HTTP/1.1 with a known header; an answer smaller than our header.
    assert_eq!(size(json!({ "_transferSize": 7_000, "content": content(31_000) })), (300, 6_700));
    assert_eq!(size(json!({ "_transferSize": 7_000, "headersSize": 450, "bodySize": 6_550 })), (450, 6_550));
    assert_eq!(size(json!({ "_transferSize": 120, "content": content(31_000) })), (120, 0));
    // HAR 1.2 alone: the size of the body, what compression saved, a field of the header.
    assert_eq!(size(json!({ "bodySize": 900, "content": content(4_000) })), (300, 900));
    assert_eq!(size(json!({ "content": { "size": 9_000, "compression": 6_500 } })), (300, 2_500));
    let length = json!([{ "name": "Content-Length", "value": "1234" }]);
    assert_eq!(size(json!({ "headers": length, "content": content(5_000) })), (300, 1_234));
    assert_eq!(size(json!({ "content": content(5_000) })), (300, 5_000));
    assert_eq!(size(json!({ "content": { "text": "YWJjZA==", "encoding": "base64" } })), (300, 6));
    // A 304 has no body, whatever is in the cache; nor has the answer to HEAD.
    assert_eq!(size(json!({ "status": 304, "headersSize": 210, "bodySize": 4_000 })), (210, 0));
    let head = with(
        request(0, A),
        json!({ "request": { "method": "HEAD" }, "response": { "content": content(7) } }),
    );
    assert_eq!(sizes(&log(&[head])), [(300, 0)]);
    // WebPageTest writes numbers as text.
    let wpt = with(request(0, A), json!({ "_bytesIn": "2500", "response": { "headersSize": "500" } }));
    assert_eq!(sizes(&log(&[wpt])), [(500, 2_000)]);
    // Firefox counts the header in `bodySize`, as an object without compression shows.
    let plain =
        json!({ "response": { "headersSize": 400, "bodySize": 1_400, "content": { "size": 1_000 } } });
    let packed =
        json!({ "response": { "headersSize": 300, "bodySize": 2_300, "content": { "size": 9_000 } } });
    let firefox = log(&[with(request(0, A), plain), with(request(60, "https://a.example/b"), packed)]);
    assert_eq!(sizes(&firefox), [(400, 1_000), (300, 2_000)]);
}

#[test]
fn sizes_that_are_wrong_or_missing_are_unknown() {
    let odd = [
        json!({ "bodySize": -384, "headersSize": 384 }),
        json!({ "bodySize": -2, "content": { "size": -7 } }),
        json!({ "bodySize": "5 kB" }),
        json!({ "bodySize": null, "headersSize": null, "content": null }),
    ];
    for response in odd {
        let text = log(&[with(request(0, A), json!({ "response": response.clone() }))]);
        assert_eq!(sizes(&text)[0].1, 0, "{response}");
        assert_eq!(note(&text), "read 1 entry: kept 1 without a size, as empty", "{response}");
    }
    let zipped = json!({ "response": { "headers": [{ "name": "content-encoding", "value": "br" }],
                                       "content": { "size": 80_000 } } });
    assert_eq!(
        note(&log(&[with(request(0, A), zipped)])),
        "read 1 entry: kept 1 with their size after decompression"
    );
    let times = json!({ "timings": { "wait": -5, "receive": -0.3, "ssl": null } });
    assert_eq!(
        sizes(&log(&[with(request(0, A), with(times, json!({ "response": { "bodySize": 3 } })))])),
        [(300, 3)]
    );
}

/// Each marks a response that did not come over the network.
#[test]
fn what_the_browser_had_is_left_out() {
    let b = "https://b.example/x.png";
    let local = [
        (json!({ "_fromCache": "memory" }), "from the cache"),
        (
            json!({ "response": { "_transferSize": 0, "bodySize": 0, "content": { "size": 900 } } }),
            "from the cache",
        ),
        (json!({ "response": { "_transferSize": 0, "headersSize": 80, "bodySize": -80 } }), "from the cache"),
        (json!({ "_fetchType": "Disk Cache", "timings": { "wait": 0.03 } }), "from the cache"),
        // Firefox: no phase has a duration, or there is none.
        (
            json!({ "time": 0, "timings": { "wait": 0, "receive": 0 }, "response": { "headersSize": 0, "bodySize": 800 } }),
            "from the cache",
        ),
        (json!({ "timings": null, "response": { "content": { "size": 4_000 } } }), "from the cache"),
        // Chrome before it wrote `_fromCache`.
        (
            json!({ "timings": { "wait": 0, "receive": 2 }, "response": { "headersSize": 90, "bodySize": 0 } }),
            "from the cache",
        ),
        (
            json!({ "response": { "_transferSize": 0, "_fetchedViaServiceWorker": true } }),
            "from a service worker",
        ),
        (json!({ "_fetchType": "Service Worker" }), "from a service worker"),
        (json!({ "response": { "status": 307, "_transferSize": 0 } }), "redirected by the browser itself"),
        (
            json!({ "response": { "status": 0, "_transferSize": 0, "_error": "net::ERR_ABORTED" } }),
            "without a response",
        ),
        (json!({ "response": { "status": -1 } }), "without a response"),
        (
            json!({ "response": { "status": 0, "bodySize": 70, "_error": "net::ERR_FAILED" } }),
            "without a response",
        ),
        (json!({ "response": null }), "without a response"),
        (json!({ "request": { "url": "blob:https://b.example/1" } }), "not of HTTP"),
        (json!({ "request": { "url": "chrome-extension://abc/x.css" } }), "not of HTTP"),
        (json!({ "request": { "url": "about:blank" } }), "not of HTTP"),
        (json!({ "request": { "url": "wss://b.example/live" } }), "of WebSockets"),
        (json!({ "response": { "status": 101 } }), "of WebSockets"),
        (json!({ "request": { "method": "CONNECT", "url": "b.example:443" } }), "of tunnels (CONNECT)"),
        (json!({ "startedDateTime": "soon" }), "without an address or a time"),
        (json!({ "request": null }), "without an address or a time"),
    ];
    let first = with(request(0, A), json!({ "response": { "_transferSize": 5_000 } }));
    for (members, why) in local {
        let text = log(&[first.clone(), with(request(60, b), members.clone())]);
        assert_eq!(note(&text), format!("read 2 entries: left out 1 {why}"), "{members}");
        assert_eq!((read(&text).hosts, objects(&read(&text)).count()), (1, 1), "{members}");
    }
}

/// Each has a mark of a cache or of nothing sent, and one of the network, which counts.
#[test]
fn what_was_sent_is_kept() {
    let b = "https://b.example/x.png";
    let first = with(request(0, A), json!({ "response": { "_transferSize": 5_000 } }));
    let over_the_network = [
        json!({ "_fromCache": "disk", "response": { "status": 304, "_transferSize": 190 } }),
        json!({ "response": { "_fetchedViaServiceWorker": true, "_transferSize": 5_000 } }),
        json!({ "response": { "_transferSize": -1, "bodySize": 10 } }),
        json!({ "timings": { "wait": 0, "receive": 0 }, "_was_pushed": "1", "response": { "bodySize": 10 } }),
        json!({ "_fetchType": "Network Load", "response": { "bodySize": 10 } }),
        // Pushed, as Firefox writes it.
        json!({ "timings": null, "response": { "status": 0, "headersSize": null, "bodySize": 10 } }),
    ];
    for members in over_the_network {
        let text = log(&[first.clone(), with(request(60, b), members.clone())]);
        assert_eq!(note(&text), "read 2 entries", "{members}");
    }
    // A recorder without times does not say that everything was in the cache.
    let timeless =
        json!({ "time": 0, "timings": { "wait": 0, "receive": 0 }, "response": { "bodySize": 10 } });
    assert_eq!(
        note(&log(&[with(request(0, A), timeless.clone()), with(request(1, b), timeless)])),
        "read 2 entries"
    );
}

#[test]
fn entries_of_no_page_belong_to_the_one_that_was_loading() {
    let pages = json!([{ "id": "p", "title": "one", "startedDateTime": at(0) },
                       { "id": "q", "title": "two", "startedDateTime": at(5_000) }]);
    let of = |ms: u32, url: &str, page: Value| with(request(ms, url), json!({ "pageref": page }));
    let entries = [
        of(100, "https://a.example/", json!("p")),
        of(150, "https://a.example/sw.jpg", Value::Null),
        of(5_100, "https://b.example/", json!("q")),
        of(5_050, "https://c.example/early", Value::Null),
        of(5_300, "https://b.example/i", json!("tab 7")),
        of(9_000, "https://b.example/late", json!("")),
    ];
    let text = json!({ "log": { "pages": pages, "entries": entries } }).to_string();
    let set = read(&text);
    let counts: Vec<_> = set.pages.iter().map(|page| (page.name(), page.objects().len())).collect();
    assert_eq!(counts, [("one", 2), ("two", 4)]);
    // The document of the second page is its own, although another request began before.
    assert_eq!(set.pages[1].objects()[0].server, 1);
    let expected =
        "read 6 entries: kept 4 of no page, with the page that was being loaded; 6 without a size, as empty";
    assert_eq!(note(&text).replace(", 6", "; 6"), expected);
    // No entry names a page, as of some recorders, or the pages have no ids; two pages have the same.
    let none = log(&[with(request(0, A), json!({ "pageref": null }))]);
    assert_eq!((read(&none).pages[0].name(), objects(&read(&none)).count()), ("t", 1));
    let twice = text.replace("\"q\"", "\"p\"");
    assert_eq!(read(&twice).pages.iter().map(|page| page.objects().len()).collect::<Vec<_>>(), [2, 4]);
    let bare = text.replace("\"id\"", "\"name\"");
    assert_eq!(read(&bare).pages.iter().map(|page| page.objects().len()).collect::<Vec<_>>(), [2, 4]);
}

/// A chain of scripts, each of which requests the next one when it is complete.
#[test]
fn initiators_are_objects_stacks_or_texts() {
    let name = |i: u32| format!("https://a.example/{i}.js");
    let body = json!({ "response": { "_transferSize": 1_300 } });
    let chain = |initiator: &dyn Fn(String) -> Value| {
        let mut entries = vec![with(request(0, A), body.clone())];
        for i in 1..=3 {
            let by = if i == 1 { A.to_owned() } else { name(i - 1) };
            let more = json!({ "_initiator": initiator(by) });
            entries.push(with(with(request(60 * i, &name(i)), body.clone()), more));
        }
        parents(&log(&entries))
    };
    let frames = |urls: &[&str]| json!(urls.iter().map(|url| json!({ "url": url })).collect::<Vec<_>>());
    let expected = [(0, 0), (0, 1_000), (1, 1_000), (2, 1_000)];
    assert_eq!(chain(&|by| json!({ "type": "script", "url": by })), expected);
    assert_eq!(chain(&|by| json!(by)), expected);
    assert_eq!(chain(&|by| json!(format!("{by}#part"))), expected);
    assert_eq!(chain(&|by| json!({ "type": "script", "stack": { "callFrames": frames(&[&by]) } })), expected);
    // The innermost calls are of code without a file, or of a library outside of the recording.
    let inner = ["", "https://a.example/unknown.js"];
    assert_eq!(
        chain(&|by| json!({ "stack": { "callFrames": frames(&[inner[0], inner[1], &by]) } })),
        expected
    );
    let later = |by: &str| json!({ "description": "Promise.then", "callFrames": frames(&[by]) });
    assert_eq!(chain(&|by| json!({ "stack": { "callFrames": [], "parent": later(&by) } })), expected);
    assert_eq!(
        chain(
            &|by| json!({ "stack": { "callFrames": [], "parent": { "callFrames": [], "parent": later(&by) } } })
        ),
        expected
    );
    // Unknown initiators: all depend on the document.
    assert_eq!(chain(&|_| json!("https://z.example/")), [(0, 0), (0, 1_000), (0, 1_000), (0, 1_000)]);
}

#[test]
fn the_initiator_of_a_cached_initiator_counts() {
    let body = json!({ "response": { "_transferSize": 1_300 } });
    let by = |url: &str| json!({ "_initiator": { "url": url } });
    let text = log(&[
        with(request(0, A), body.clone()),
        with(with(request(60, "https://a.example/1.js"), body.clone()), by(A)),
        with(
            with(request(120, "https://a.example/2.js"), json!({ "_fromCache": "disk" })),
            by("https://a.example/1.js"),
        ),
        with(with(request(125, "https://a.example/3.js"), body), by("https://a.example/2.js")),
    ]);
    assert_eq!(parents(&text), [(0, 0), (0, 1_000), (1, 1_000)]);
}

#[test]
fn redirections_are_a_chain_that_ends_with_the_document() {
    let moved = |to: &str| json!({ "response": { "status": 302, "redirectURL": to, "_transferSize": 310 } });
    let body = json!({ "response": { "_transferSize": 1_300 } });
    let field = json!({ "response": { "status": 301, "_transferSize": 310,
                                      "headers": [{ "name": "Location", "value": "//www.a.example/start?x=1" }] } });
    let entries = [
        with(request(0, "http://a.example"), moved("https://a.example/")),
        with(request(60, "https://a.example/"), field),
        with(request(120, "https://www.a.example/start?x=1"), moved("home#top")),
        with(request(180, "https://www.a.example/home"), body.clone()),
        with(request(240, "https://cdn.example/late.css"), body.clone()),
        with(request(185, "https://cdn.example/push"), body.clone()),
    ];
    // The object that began before the answer of the document was complete depends on it as well.
    let seen = parents(&log(&entries));
    assert_eq!(seen, [(0, 0), (0, 10), (1, 10), (2, 10), (3, 0), (3, 1_000)]);
    // A redirection to itself, as with a cookie, and an internal one before the page (HSTS).
    let hsts = json!({ "response": { "status": 307, "redirectURL": A, "_transferSize": 0 } });
    let entries = [
        with(request(0, "http://a.example/"), hsts),
        with(request(1, A), moved(A)),
        with(request(60, A), body.clone()),
        with(request(120, "https://a.example/i"), body),
    ];
    assert_eq!(parents(&log(&entries)), [(0, 0), (0, 10), (1, 1_000)]);
}

/// The processing time is the waiting time less the round trip of the connection, whose TLS handshake is a part
/// of `connect` (HAR 1.2), apart from it (Firefox), or the same as in QUIC.
#[test]
fn connection_times_with_and_without_tls() {
    let wait = |time: f64, connect: f64, ssl: f64| {
        let timings = json!({ "time": time, "timings": { "connect": connect, "ssl": ssl, "wait": 100, "receive": 10 } });
        let set = read(&log(&[with(request(0, A), timings)]));
        objects(&set).next().unwrap().wait
    };
    assert_eq!(wait(170.0, 60.0, 35.0), Duration::from_millis(75));
    assert_eq!(wait(205.0, 60.0, 35.0), Duration::from_millis(40));
    assert_eq!(wait(135.0, 25.0, 25.0), Duration::from_millis(75));
}

#[test]
fn texts_that_are_almost_json_are_read() {
    let plain = log(&[with(request(0, A), json!({ "response": { "_transferSize": 800 } }))]);
    let same = |text: &str| assert_eq!(sizes(text), [(300, 500)]);
    same(&plain);
    same(&format!("\u{feff}{plain}"));
    same(&format!("onInputData({plain});\n"));
    // A text that is cut within a pair of surrogates, and escapes that only look like one.
    let content =
        |text: &str| plain.replacen("\"content\":{}", &format!("\"content\":{{\"text\":\"{text}\"}}"), 1);
    same(&content("\\ud83d"));
    same(&content("\\ud83d\\ude00 \\udc00x \\\\ud83d \\\\\\ud83d\\n"));
    let wrong = har::parse(&content("\\ud83d\\q"), "x.har").unwrap_err().to_string();
    assert!(wrong.contains("invalid JSON"), "{wrong}");
}

#[test]
fn times_are_written_in_several_ways() {
    let after = |second: &str| {
        let entries =
            [request(0, A), with(request(0, "https://a.example/i"), json!({ "startedDateTime": second }))];
        let first =
            json!({ "response": { "_transferSize": 1_300 }, "timings": { "wait": 0, "receive": 1_000 } });
        parents(&log(&[with(entries[0].clone(), first), entries[1].clone()]))[1].1
    };
    // Half of the document.
    for text in [
        "2024-05-05T10:00:00.500Z",
        "2024-05-05T12:00:00.5000000+02:00",
        "2024-05-05 10:00:00,5",
        "2024-05-05T02:30:00.500-0730",
        "2024-05-05T11:00:00.5+01",
    ] {
        assert_eq!(after(text), 500, "{text}");
    }
}
