//! Random frames of XR, and what their table has to account for.

use airlane_core::{Duration, Stream};
use airlane_record::{Column, Table};
use airlane_scenario::{Resolved, format};

use super::one_of;

/// A flow of XR to a UE, or to the host; often none.
pub(super) fn flow(s: &mut Stream, to: Option<&str>) -> String {
    if !s.chance(0.25) {
        return String::new();
    }
    let mut text = to.map_or("[[flow]]\n".to_owned(), |to| format!("[[flow]]\nto = \"{to}\"\n"));
    text += &format!("name = \"xr\"\nstart = \"{} ms\"\n", s.below(300));
    if s.chance(0.3) {
        text += &format!("stop = \"{} ms\"\n", 301 + s.below(600));
    }
    let ecn = one_of(s, &["not-ect", "ect0", "ect1"]);
    text += &format!("transport = {{ kind = \"udp\", ecn = \"{ecn}\" }}\n[flow.app]\nkind = \"xr\"\n");
    let service = one_of(s, &["vr-30", "vr-45", "cloud-gaming-8", "cloud-gaming-30", "ar"]);
    text += &format!("service = \"{service}\"\n");
    if s.chance(0.7) {
        let uplink = one_of(s, &["none", "pose", "pose-and-video"]);
        text += &format!("uplink = \"{uplink}\"\n");
    }
    text += &format!("payload = \"{} B\"\n", 200 + s.below(1_273));
    text += &format!("video = {}\nuplink_video = {}\n", video(s), video(s));
    text + &format!(
        "pose = {{ interval = \"{} ms\", size = \"{} B\", budget = \"{} ms\" }}\n",
        2 + s.below(50),
        1 + s.below(200),
        1 + s.below(40)
    )
}

fn video(s: &mut Stream) -> String {
    let (rate, frames, deviation) = (50 + s.below(1_000), 5 + s.below(55), s.below(40));
    // At most 59 frames/s: the range is less than half of 16.9 ms.
    let range = s.below(8);
    format!(
        "{{ rate = \"{rate} kbit/s\", frame_rate = {frames}.0, deviation = 0.{deviation:02}, min = {:.2}, \
         max = {:.2}, budget = \"{} ms\", jitter = {{ deviation = \"{} ms\", range = \"{range} ms\" }} }}",
        s.below(100 - deviation) as f64 / 100.0,
        (101 + deviation + s.below(100)) as f64 / 100.0,
        1 + s.below(50),
        s.below(range + 1)
    )
}

/// Each frame has one fate, which its packets explain, and the packets of the frames of a flow are those of the flow:
/// sent, and delivered by the end.
pub(super) fn check(scenario: &Resolved, tables: &[(&'static str, Table)]) {
    let table = |wanted: &str| tables.iter().find(|(name, _)| *name == wanted).map(|(_, table)| table);
    let Some(frames) = table("xr_frames") else { return };
    let flows = table("flows").expect("every run has it");
    let (names, streams, fates) = (texts(frames, "flow"), texts(frames, "stream"), texts(frames, "fate"));
    let [packets, received, dropped] = ["packets", "received", "dropped"].map(|name| counts(frames, name));
    for row in 0..frames.rows() {
        let open = packets[row] - received[row] - dropped[row];
        assert!(open >= 0, "frame {row} has more packets than were sent");
        let explained = match fates[row] {
            "in-time" | "late" => received[row] == packets[row],
            "lost" => dropped[row] > 0,
            _ => dropped[row] == 0 && open > 0,
        };
        assert!(explained, "frame {row} is {}", fates[row]);
    }
    let (rows, sent, delivered) =
        (texts(flows, "flow"), counts(flows, "packets_sent"), counts(flows, "packets_delivered"));
    let stops = |flow: &format::Flow| matches!(flow.app, format::App::Xr(_)) && flow.stop.is_some();
    if scenario.run.warmup.0 > Duration::ZERO || scenario.flow.iter().any(stops) {
        return; // the sums of flows leave out what is before the warm-up and after the stop
    }
    for (place, name) in rows.iter().enumerate() {
        let own = name.strip_suffix(" (uplink)").unwrap_or(name);
        let of = |row: &usize| names[*row] == own && (streams[*row] != "video") == (own != *name);
        let mine: Vec<_> = (0..frames.rows()).filter(of).collect();
        if mine.is_empty() {
            continue;
        }
        let sum = |values: &[i64]| mine.iter().map(|row| values[*row]).sum::<i64>();
        assert_eq!((sum(packets), sum(received)), (sent[place], delivered[place]), "of {name}");
    }
}

fn texts<'a>(table: &'a Table, column: &str) -> Vec<&'a str> {
    table.column(column).and_then(Column::names).unwrap_or_else(|| panic!("{column} has names"))
}

fn counts<'a>(table: &'a Table, column: &str) -> &'a [i64] {
    let Some(Column::I64(values)) = table.column(column) else { panic!("{column} has counts") };
    values
}
