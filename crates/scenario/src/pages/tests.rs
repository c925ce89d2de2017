//! Page sets and HAR files: the resulting pages, and the complete error for every mistake.

use super::*;

#[path = "../../examples/page_set/main.rs"]
mod page_set;
#[path = "../../tests/all/snapshots/mod.rs"]
mod snapshots;

fn objects(set: &PageSet) -> impl Iterator<Item = &PageObject> {
    set.pages.iter().flat_map(|page| page.objects())
}

#[test]
fn the_page_sets_are_what_their_generators_write() {
    for ((name, text), ours) in
        SETS.iter().zip([page_set::pages_2011::generate(), page_set::pages_2025::generate()])
    {
        if std::env::var_os("AIRLANE_BLESS").is_some() {
            let file = format!("{}/data/pages-{name}.csv", env!("CARGO_MANIFEST_DIR"));
            std::fs::write(file, &ours).unwrap();
        }
        assert!(ours == *text, "the example of pages of {name} writes another data/pages-{name}.csv");
    }
}

/// The published percentiles of mobile pages in July 2025 (examples/page_set/pages_2025.rs). Two pages are at the 10th and two
/// at the 90th; the median is between the tenth and the eleventh.
#[test]
fn the_page_set_of_2025_has_the_published_percentiles() {
    let set = load("2025", &Files::Disk).unwrap();
    assert_eq!(set.pages.len(), 20);
    let near = |what: &str, ours: f64, theirs: f64, share: f64| {
        assert!((ours / theirs - 1.0).abs() <= share, "{what}: {ours:.1}, published {theirs:.1}");
    };
    let sorted = |of: &dyn Fn(&Page) -> f64| {
        let mut values: Vec<f64> = set.pages.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        [values[0], (values[9] * values[10]).sqrt(), values[19]]
    };
    let bytes = |page: &Page, urgency: u8| {
        page.objects().iter().filter(|o| o.urgency == urgency).map(|o| o.body.get()).sum::<u64>() as f64
            / 1024.0
    };
    let all = |page: &Page| page.objects().iter().map(|o| o.body.get()).sum::<u64>() as f64 / 1024.0;
    let requests = |page: &Page| page.objects().len() as f64;
    for (ours, theirs) in sorted(&all).into_iter().zip([516.0, 2164.0, 8337.0]) {
        near("kB", ours, theirs, 0.02);
    }
    for (ours, theirs) in sorted(&requests).into_iter().zip([25.0, 72.0, 179.0]) {
        near("requests", ours, theirs, 0.06);
    }
    for (ours, theirs) in sorted(&|page| bytes(page, 2)).into_iter().zip([89.0, 646.0, 1910.0]) {
        near("kB of scripts", ours, theirs, 0.02);
    }
    let [_, hosts, _] = sorted(&|page| {
        page.objects().iter().map(|o| o.server).collect::<std::collections::BTreeSet<_>>().len() as f64
    });
    near("hosts", hosts, 18.0, 0.2);
}

/// The measured means (see examples/page_set/pages_2011.rs for the sources), with a tolerance for rounding: counts are
/// whole for each page and type, so their means differ by at most half an object and usually by less.
#[test]
fn the_page_set_has_the_statistics_of_2011() {
    let set = load("2011", &Files::Disk).unwrap();
    let n = set.pages.len() as f64;
    assert_eq!(set.pages.len(), 20);
    let near = |what: &str, ours: f64, theirs: f64, share: f64| {
        assert!((ours / theirs - 1.0).abs() <= share, "{what}: {ours:.2}, measured {theirs:.2}");
    };
    near("requests", objects(&set).count() as f64 / n, 76.0, 0.02);
    let kilobytes = |urgency: u8| {
        let own = objects(&set).filter(|object| object.urgency == urgency);
        own.map(|object| object.body.get()).sum::<u64>() as f64 / n / 1024.0
    };
    // Two thirds of the way from January 2011 to January 2012.
    near("html", kilobytes(0), 33.0, 0.01);
    near("css", kilobytes(1), 29.33, 0.01);
    near("scripts", kilobytes(2), 142.0, 0.01);
    near("images", kilobytes(5), 432.33, 0.01);
    near("flash", kilobytes(4), 66.33, 0.01);
    let total = objects(&set).map(|object| object.body.get()).sum::<u64>() as f64 / n / 1024.0;
    near("total of the tables", total, 728.0, 0.01);
    near("total of August 2011", total, 735.0, 0.02);
    let count = |urgency: u8| objects(&set).filter(|object| object.urgency == urgency).count() as f64;
    near("images for a script", count(5) / count(2), 29.39 / 7.09, 0.05);
    near("scripts for a style sheet", count(2) / count(1), 7.09 / 3.22, 0.08);
    let hosts = |page: &Page| {
        let servers: std::collections::BTreeSet<u16> = page.objects().iter().map(|o| o.server).collect();
        servers.len()
    };
    let all: Vec<usize> = set.pages.iter().map(hosts).collect();
    near("hosts", all.iter().sum::<usize>() as f64 / n, 7.6, 0.05);
    assert!(all.iter().all(|hosts| (2..=38).contains(hosts)), "{all:?}");
}

#[test]
fn a_table_becomes_pages() {
    let text = "# a comment\nhost,page,body_bytes,type,parent,after_bytes,wait_ms\n\
                a.example,first,9000,html,,,120\nb.example,first,500,image,0,4500,\n\n\
                a.example,second,100,,,,\nb.example,second,7,css,,100,\n";
    let set = table::parse(text, "x.csv").unwrap();
    assert_eq!((set.hosts, set.pages.len()), (2, 2));
    let [first, second] = [&set.pages[0], &set.pages[1]];
    assert_eq!((first.name(), second.name()), ("first", "second"));
    let document = PageObject {
        server: 0,
        request: Bytes(400),
        head: Bytes(300),
        body: Bytes(9000),
        wait: Duration::from_millis(120),
        urgency: 0,
        parent: 0,
        after: Bytes(0),
    };
    let image = PageObject { server: 1, body: Bytes(500), urgency: 5, after: Bytes(4500), ..document };
    assert_eq!(first.objects(), [document, PageObject { wait: Duration::ZERO, ..image }]);
    assert_eq!((second.objects()[1].server, second.objects()[1].after), (1, Bytes(100)));
}

/// An entry of a HAR file.
fn entry(url: &str, began: &str, times: [f64; 3], sizes: [i64; 2]) -> serde_json::Value {
    let [connect, wait, receive] = times;
    serde_json::json!({
        "pageref": "p1",
        "startedDateTime": began,
        "request": { "url": url, "headersSize": 350, "bodySize": 0 },
        "response": { "status": 200, "headersSize": -1, "bodySize": sizes[0],
                      "content": { "size": sizes[1], "mimeType": "text/html; charset=utf-8" } },
        "timings": { "blocked": -1, "dns": -1, "connect": connect, "send": 0, "wait": wait, "receive": receive },
    })
}

fn har(entries: &[serde_json::Value]) -> serde_json::Value {
    serde_json::json!({ "log": {
        "version": "1.2",
        "pages": [{ "id": "p1", "title": "A page", "startedDateTime": "2011-09-15T12:00:00Z" }],
        "entries": entries,
    }})
}

/// The document: begun at 12:00:00, its response from 100 ms (40 of a connection, 60 of waiting) to 300 ms.
/// An image that began at 200 ms was named by its first half; one that began at 400 ms, with a time zone two
/// hours west, by its end. An object loaded by a script of 500 ms was named by the end of the script. The
/// server took 60 - 40 ms.
#[test]
fn a_recording_becomes_a_page() {
    let document =
        entry("http://a.example/", "2011-09-15T12:00:00.000Z", [40.0, 60.0, 200.0], [5_000, 9_000]);
    let half =
        entry("http://B.example:8080/i.png?x", "2011-09-15T14:00:00.200+02:00", [-1.0, 10.0, 5.0], [-1, 700]);
    let script = entry("http://a.example/s.js", "2011-09-15T10:00:00.4-0200", [-1.0, 10.0, 5.0], [300, 700]);
    let mut by_script = entry("http://a.example/late", "2011-09-15T12:00:00.5Z", [-1.0, 10.0, 5.0], [0, 700]);
    by_script["_initiator"] = serde_json::json!({ "type": "script", "url": "http://a.example/s.js" });
    let data = entry("data:image/png;base64,AAAA", "2011-09-15T12:00:00.1Z", [0.0, 0.0, 0.0], [0, 9]);
    let mut cached = entry("http://a.example/c", "2011-09-15T12:00:00.1Z", [0.0, 0.0, 0.0], [0, 9]);
    cached["response"]["status"] = 0.into();
    // In any order: only the start times count.
    let text = har(&[by_script, data, half, cached, document, script]).to_string();
    let set = har::parse(&text, "x.har").unwrap();
    assert_eq!((set.pages.len(), set.pages[0].name(), set.hosts), (1, "A page", 2));
    let seen: Vec<_> =
        set.pages[0].objects().iter().map(|o| (o.server, o.body.get(), o.parent, o.after.get())).collect();
    assert_eq!(seen, [(0, 5_000, 0, 0), (1, 700, 0, 2_500), (0, 300, 0, 5_000), (0, 0, 2, 300)]);
    let document = set.pages[0].objects()[0];
    assert_eq!(
        (document.request, document.head, document.wait),
        (Bytes(350), Bytes(300), Duration::from_millis(20))
    );
    // Without pages, the whole log is one page.
    let mut bare = har(&[entry("https://a.example/", "2011-09-15T12:00:00Z", [-1.0, 1.0, 1.0], [1, 1])]);
    bare["log"].as_object_mut().unwrap().remove("pages");
    assert_eq!(har::parse(&bare.to_string(), "x.har").unwrap().pages[0].name(), "page");
}

/// Every mistake in a table.
fn mistakes_of_tables() -> Vec<(&'static str, String)> {
    let error = |text: &str| table::parse(text, "x.csv").expect_err("the table is wrong").to_string();
    let line = |line: &str| {
        let head = "page,type,host,body_bytes,parent,after_bytes,wait_ms,head_bytes";
        error(&format!("{head}\np,html,a.example,1000,,,,\n{line}\n"))
    };
    vec![
        ("nothing", error("")),
        ("only a header", error("page,host,body_bytes\n")),
        ("no header", error("p,a.example,1000\n")),
        ("misspelt column", error("page,hosts,body_bytes\n")),
        ("a column twice", error("page,host,host,body_bytes\n")),
        ("no size", error("page,host\np,a.example\n")),
        ("too few columns", line("p,image,a.example")),
        ("no host", line("p,image,,10,,,,")),
        ("an empty size", line("p,image,a.example,,,,,")),
        ("a unit", line("p,image,a.example,10 kB,,,,")),
        ("a negative size", line("p,image,a.example,-10,,,,")),
        ("too large", line("p,image,a.example,99999999999,,,,")),
        ("unknown type", line("p,imgae,a.example,10,,,,")),
        ("named by one behind", line("p,image,a.example,10,5,,,")),
        ("named by itself", line("p,image,a.example,10,1,,,")),
        ("named beyond the end", line("p,image,a.example,10,0,1001,,")),
        ("a parent of a document", line("q,html,a.example,10,0,,,")),
        ("a wait of minutes", line("p,image,a.example,10,,,60001,")),
        ("no head", line("p,image,a.example,10,,,,0")),
        ("apart", line("q,html,a.example,10,,,,\np,image,a.example,10,,,,")),
        ("too many pages", {
            let pages: String = (0..1001).map(|i| format!("{i},a.example,1\n")).collect();
            error(&format!("page,host,body_bytes\n{pages}"))
        }),
        ("too many objects", error(&format!("page,host,body_bytes\n{}", "p,a.example,1\n".repeat(10_001)))),
        ("too many hosts", {
            let objects: String = (0..10_001).map(|i| format!("{},{i}.example,1\n", i / 5000)).collect();
            error(&format!("page,host,body_bytes\n{objects}"))
        }),
    ]
}

/// Every mistake in a HAR file.
fn mistakes_of_recordings() -> Vec<(&'static str, String)> {
    let error = |text: &str| har::parse(text, "x.har").expect_err("the file is wrong").to_string();
    let changed = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut one =
            entry("http://a.example/", "2011-09-15T12:00:00.000Z", [40.0, 60.0, 200.0], [5_000, 9_000]);
        change(&mut one);
        error(&har(&[one]).to_string())
    };
    vec![
        ("nothing", error("")),
        ("cut short", error("{\n\"log\": {\n\"entries\": [")),
        ("another file", error("{ \"name\": \"x\" }")),
        ("a log of nothing", error("{ \"log\": { \"entries\": [] } }")),
        ("entries of another kind", error("{ \"log\": { \"entries\": 5 } }")),
        ("an entry of another kind", error("{ \"log\": { \"entries\": [7] } }")),
        ("no address", changed(&|e| drop(e["request"].as_object_mut().unwrap().remove("url")))),
        ("no host", changed(&|e| e["request"]["url"] = "http:///path".into())),
        ("no status", changed(&|e| e["response"] = serde_json::json!({}))),
        ("nothing of a network", changed(&|e| e["request"]["url"] = "data:,x".into())),
        ("no time", changed(&|e| e["startedDateTime"] = "yesterday".into())),
        ("no month", changed(&|e| e["startedDateTime"] = "2011-13-15T12:00:00Z".into())),
        ("a time of another kind", changed(&|e| e["startedDateTime"] = 5.into())),
        ("a huge size", changed(&|e| e["response"]["bodySize"] = 1e12.into())),
        (
            "a stylesheet of the browser",
            changed(&|e| e["request"]["url"] = "chrome-extension://abc/a.css".into()),
        ),
        ("all from the cache", changed(&|e| e["_fromCache"] = "disk".into())),
        ("too many entries", {
            let one = entry("http://a.example/", "2011-09-15T12:00:00Z", [0.0; 3], [1, 1]);
            error(&har(&vec![one; 10_001]).to_string())
        }),
    ]
}

#[test]
fn mistakes_are_explained() {
    let cases = [("tables", mistakes_of_tables()), ("recordings", mistakes_of_recordings())];
    let line = |(what, text): (&str, String)| format!("{what}\n    {text}\n");
    let printed: String = cases
        .into_iter()
        .flat_map(|(kind, cases)| [format!("# {kind}\n")].into_iter().chain(cases.into_iter().map(line)))
        .collect();
    snapshots::compare(&printed, "page-errors.txt");
}

mod recordings;
