//! Flows with video viewers and random settings.

use airlane_core::Stream;

use super::of_quic;

/// A video viewer; often none.
pub(crate) fn viewer(s: &mut Stream, later: &mut Stream, to: Option<&str>) -> String {
    if !s.chance(0.25) {
        return String::new();
    }
    let mut text = to.map_or("[[flow]]\n".to_owned(), |to| format!("[[flow]]\nto = \"{to}\"\n"));
    text += &format!("name = \"viewer\"\nstart = \"{} ms\"\n", s.below(300));
    let controller = ["cubic", "bbr", "mdcc"][s.below(3) as usize];
    let whole = s.chance(0.5);
    // Segments are also fetched over HTTP/3.
    let over_quic = !whole && later.chance(0.4);
    text += &if over_quic {
        let own = of_quic(later, controller, true).replace('\n', ", ");
        format!("transport = {{ kind = \"quic\", {} }}\n", own.trim_end_matches(", "))
    } else {
        format!("transport = {{ kind = \"tcp\", congestion = \"{controller}\" }}\n")
    };
    text += &if whole { file(s, later) } else { segments(s) };
    if over_quic {
        text += "http = \"3\"\n";
    }
    text + &format!(
        "[flow.app.watching]\nviews = {}\npause = \"{} ms\"\nrequest = \"{} B\"\nresponse_head = \"{} B\"\nkeep_alive = \"{} ms\"\n",
        1 + s.below(3),
        s.below(200),
        1 + s.below(2_000),
        1 + s.below(2_000),
        1 + s.below(300),
    )
}

fn file(s: &mut Stream, later: &mut Stream) -> String {
    let bitrate = 10 + s.below(3_000);
    let (start, resume, block) = (s.below(300), s.below(300), 1 + s.below(40_000));
    let mut text = format!(
        "[flow.app]\nkind = \"video\"\nbitrate = \"{bitrate} kbit/s\"\nlength = \"{} ms\"\nstart_buffer = \"{start} ms\"\nresume_buffer = \"{resume} ms\"\nread_block = \"{block} B\"\n",
        1 + s.below(900),
    );
    if s.chance(0.5) {
        let least = start.max(resume) + 8 * block / bitrate + 1;
        text += &format!("buffer = \"{} ms\"\n", least + 1 + s.below(400));
    }
    if later.chance(0.2) {
        text += "variation = \"none\"\npage = \"none\"\n";
        return text;
    }
    if later.chance(0.4) {
        let (group, correlation) = (1 + later.below(600), later.below(3_000));
        text += &format!(
            "variation = {{ kind = \"log-normal\", group = \"{group} ms\", coefficient = 0.{}, correlation = \"{correlation} ms\" }}\n",
            later.below(10),
        );
    }
    if later.chance(0.4) {
        let (dns, connections) = (later.chance(0.7), 1 + later.below(32));
        text += &format!(
            "page = {{ kind = \"web\", pages = \"2011\", dns = {dns}, connections = {connections}, connections_per_server = {}, pipelining = {}, dns_lookup = \"{} ms\", dns_ttl = \"{} ms\" }}\n",
            1 + later.below(6),
            1 + later.below(4),
            later.below(100),
            1 + later.below(1_000),
        );
    }
    text
}

fn segments(s: &mut Stream) -> String {
    let mut bitrate = 0;
    let bitrates: Vec<String> = (0..=s.below(5))
        .map(|_| {
            bitrate += 1 + s.below(1_500);
            format!("\"{bitrate} kbit/s\"")
        })
        .collect();
    let (segment, need) = (100 + s.below(200), s.below(300));
    let buffer = need + segment + 1 + s.below(600);
    let low = 1 + s.below(buffer - segment);
    let rule = match s.below(3) {
        0 => format!("{{ kind = \"rate\", safety = 0.{}, samples = {} }}", 1 + s.below(9), 1 + s.below(32)),
        1 => format!("{{ kind = \"bola\", gamma_p = {} }}", 1 + s.below(20)),
        _ if low < buffer - segment => format!("{{ kind = \"bola\", buffer_low = \"{low} ms\" }}"),
        _ => "\"bola\"".to_owned(),
    };
    format!(
        "[flow.app]\nkind = \"dash\"\nbitrates = [{}]\nsegment = \"{segment} ms\"\nlength = \"{} ms\"\nstart_buffer = \"{need} ms\"\nresume_buffer = \"{} ms\"\nbuffer = \"{buffer} ms\"\nrule = {rule}\n",
        bitrates.join(", "),
        1 + s.below(2_000),
        s.below(need + 1),
    )
}
