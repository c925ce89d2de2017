//! Random applications that came after the others: pings, on/off sources, calls, XR, Sprout.

use airlane_core::{Seeds, Stream};

use super::xr;

/// Applications to a UE, or to the host; often none.
pub(super) fn applications(seed: u64, to: Option<&str>, ues: &str) -> String {
    let stream = |name| Seeds::new(seed).stream(name);
    ping(&mut stream("swarm/ping"), to)
        + &on_off(&mut stream("swarm/on-off"), to)
        + &between_ues(&mut stream("swarm/peers"), call(&mut stream("swarm/rtc"), to), to, ues)
        + &xr::flow(&mut stream("swarm/xr"), to)
        // A stream of this name draws none in the scenarios that found a fault, which are as they were.
        + &sprout(&mut stream("swarm/sprout-end"), to)
}

fn flow(s: &mut Stream, name: &str, to: Option<&str>) -> String {
    let mut text = to.map_or("[[flow]]\n".to_owned(), |to| format!("[[flow]]\nto = \"{to}\"\n"));
    let direction = super::one_of(s, &["downlink", "uplink"]);
    text += &format!("name = \"{name}\"\ndirection = \"{direction}\"\nstart = \"{} ms\"\n", s.below(300));
    if s.chance(0.3) {
        text += &format!("stop = \"{} ms\"\n", 301 + s.below(600));
    }
    text
}

fn ping(s: &mut Stream, to: Option<&str>) -> String {
    if !s.chance(0.25) {
        return String::new();
    }
    let mut text = flow(s, "ping", to) + "transport = \"icmp\"\n[flow.app]\nkind = \"ping\"\n";
    text += &format!("interval = \"{} ms\"\npayload = \"{} B\"\n", 1 + s.below(300), 1 + s.below(1_472));
    if s.chance(0.3) {
        text += &format!("count = {}\n", 1 + s.below(20));
    }
    text
}

fn on_off(s: &mut Stream, to: Option<&str>) -> String {
    if !s.chance(0.25) {
        return String::new();
    }
    let transport = super::one_of(s, &["udp", "tcp"]);
    let mut text =
        flow(s, "on-off", to) + &format!("transport = \"{transport}\"\n[flow.app]\nkind = \"on-off\"\n");
    text += &format!("rate = \"{} kbit/s\"\npayload = \"{} B\"\n", 10 + s.below(5_000), 1 + s.below(1_472));
    if s.chance(0.3) {
        text += &format!("size = \"{} B\"\n", 1 + s.below(100_000));
    }
    text + &format!("on = {}\noff = {}\n", period(s), period(s))
}

fn call(s: &mut Stream, to: Option<&str>) -> String {
    if !s.chance(0.25) {
        return String::new();
    }
    let ecn = super::one_of(s, &["not-ect", "ect0", "ect1"]);
    let mut text = flow(s, "call", to)
        + &format!("transport = {{ kind = \"udp\", ecn = \"{ecn}\" }}\n[flow.app]\nkind = \"rtc\"\n");
    let constant = format!("{{ kind = \"constant\", rate = \"{} kbit/s\" }}", 200 + s.below(3_000));
    let variant = super::one_of(s, &["draft", "ericsson", "libwebrtc"]);
    let scream = format!("{{ kind = \"scream\", variant = \"{variant}\" }}");
    let nada = format!("{{ kind = \"nada\", priority = {}.5 }}", s.below(9));
    let own = format!("{{ kind = \"own\", name = \"{}\" }}", super::host_settings::OWN);
    let controllers = [constant.as_str(), "\"gcc\"", scream.as_str(), nada.as_str(), own.as_str()];
    let controller = super::one_of(s, &controllers);
    text += &format!("controller = {controller}\n");
    let feedback = super::one_of(s, &["transport-wide", "rfc8888"]);
    text += &format!("feedback = \"{feedback}\"\nfeedback_interval = \"{} ms\"\n", 20 + s.below(200));
    let fec = if s.chance(0.3) { s.below(101) } else { 0 };
    text += &format!("nack = {}\nboth = {}\nfec = \"{fec} %\"\n", s.chance(0.5), s.chance(0.3));
    if s.chance(0.5) {
        let packet = [10, 20, 60][s.below(3) as usize];
        text += &format!(
            "audio = {{ kind = \"opus\", rate = \"{} kbit/s\", packet = \"{packet} ms\" }}\n",
            8 + s.below(60)
        );
    } else {
        text += "audio = \"none\"\n";
    }
    text += &format!(
        "pacer = {{ burst = \"{} ms\", queue_limit = \"{} ms\", skip_after = \"{} ms\" }}\n",
        s.below(80),
        1 + s.below(3_000),
        1 + s.below(1_000)
    );
    text + "video." + &video(s) + "video.encoder = " + &encoder(s) + &pauses(s)
}

/// Sometimes the call comes from another group of UEs, if there is one of the same size.
fn between_ues(s: &mut Stream, call: String, to: Option<&str>, ues: &str) -> String {
    let group = |text: &str| {
        let value =
            |key: &str| Some(text.split_once(key)?.1.split('\n').next()?.trim_matches('"').to_owned());
        value("name = ").zip(value("count = "))
    };
    let groups: Vec<_> = ues.split("[[ue]]").filter_map(group).collect();
    let size = |name: &str| groups.iter().find(|(other, _)| other == name).map(|(_, count)| count);
    let peer =
        groups.iter().find(|(name, count)| Some(name.as_str()) != to && to.and_then(size) == Some(count));
    match peer {
        Some((from, _)) if s.chance(0.5) => call
            .replace("direction = \"uplink\"", "direction = \"downlink\"")
            .replace("name = \"call\"\n", &format!("name = \"call\"\nfrom = \"{from}\"\n")),
        _ => call,
    }
}

fn pauses(s: &mut Stream) -> String {
    if !s.chance(0.3) {
        return String::new();
    }
    let [at, duration, later] = [s.below(1_000), 1 + s.below(500), 1 + s.below(1_000)];
    format!(
        "pauses = [{{ at = \"{at} ms\", duration = \"{duration} ms\" }}, \
         {{ at = \"{} ms\", duration = \"1 s\" }}]\n",
        at + duration + later
    )
}

/// Rates that leave room for the headers of 60 frames a second, and the rest of the keys of video but the encoder.
fn video(s: &mut Stream) -> String {
    let min = 60 + s.below(200);
    let start = min + s.below(500);
    format!(
        "min = \"{min} kbit/s\"\nvideo.start = \"{start} kbit/s\"\nvideo.max = \"{} kbit/s\"\nvideo.frame_rate = {}.0\n\
         video.width = {}\nvideo.height = {}\n",
        start + s.below(3_000),
        5 + s.below(55),
        16 + s.below(2_000),
        16 + s.below(2_000)
    )
}

fn encoder(s: &mut Stream) -> String {
    let frames = 2 + s.below(20);
    format!(
        "{{ reaction = \"{} ms\", transient_frames = {frames}, transient_size = {}.5, transient_change = \"{} %\", \
         interval_scale = 0.{}, size_scale = 0.{} }}\n",
        s.below(500),
        1 + s.below(frames - 1),
        s.below(50),
        s.below(10),
        s.below(10)
    )
}

fn period(s: &mut Stream) -> String {
    let mean = 1 + s.below(200);
    match s.below(4) {
        0 => format!("{{ kind = \"constant\", length = \"{mean} ms\" }}"),
        1 => format!("{{ kind = \"uniform\", min = \"{mean} ms\", max = \"{} ms\" }}", mean + s.below(200)),
        2 => format!("{{ kind = \"exponential\", mean = \"{mean} ms\" }}"),
        _ => format!("{{ kind = \"pareto\", mean = \"{mean} ms\", shape = 1.{} }}", 1 + s.below(9)),
    }
}

fn sprout(s: &mut Stream, to: Option<&str>) -> String {
    if !s.chance(0.25) {
        return String::new();
    }
    let ecn = super::one_of(s, &["not-ect", "ect0", "ect1"]);
    let text = flow(s, "sprout", to)
        + &format!("transport = {{ kind = \"udp\", ecn = \"{ecn}\" }}\n[flow.app]\nkind = \"sprout\"\n");
    text + &format!("confidence = \"{} %\"\nboth = {}\n", 1 + s.below(99), s.chance(0.5))
}
