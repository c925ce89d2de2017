//! Time per packet through [`Cell`], without devices: `cargo run --release -p airlane-live --example cell`.
//!
//! Each line sends datagrams of 1,448 bytes downlink at a constant rate, in virtual time, with an acknowledgment of 32
//! bytes uplink for every second one, and removes what leaves. The last number compares with a real clock: above 1, one
//! core has time left.
//!
//! `cell NAME` runs one case only, for a profiler.

#![expect(clippy::disallowed_types, reason = "a measurement of the host's time")]

use std::time::Instant as Wall;

use airlane_core::{Duration, Instant};
use airlane_live::cell::Cell;
use airlane_live::ends::{EndId, Ends};
use airlane_scenario::Scenario;
use airlane_wire::checksum::fill;
use airlane_wire::{Ipv4, Tcp, protocol};

/// A case: its name, its scenario, the downlink rate in bit/s, observed and recorded or not.
struct Case {
    name: &'static str,
    scenario: &'static str,
    rate: u64,
    observed: bool,
    recorded: bool,
}

const WIRED: &str = r#"
network = "wired"
[run]
duration = "60 s"
[internet]
rate = "1.1 Gbit/s"
delay = "20 ms"
queue = "8 MiB"
[[flow]]
app = "bulk"
transport = "tcp"
"#;

/// 100 resource blocks and two layers, 10 m away: 150 Mbit/s.
const CELL: &str = r#"
network = "lena"
[run]
duration = "60 s"
[[cell]]
name = "a"
position = ["0 m", "0 m"]
resource_blocks = 100
tx_power = "30 dBm"
scheduler = "pf"
transmission_mode = "tm3"
rlc = { mode = "am", buffer = "8 MiB", aqm = "drop-tail" }
[channel]
path_loss = "friis"
[internet]
rate = "1 Gbit/s"
delay = "20 ms"
[[ue]]
name = "phone"
position = ["10 m", "0 m"]
[[flow]]
to = "phone"
app = "bulk"
transport = "tcp"
"#;

const CASES: [Case; 6] = [
    Case { name: "wired-1000", scenario: WIRED, rate: 1_000_000_000, observed: false, recorded: false },
    Case {
        name: "wired-1000-observed",
        scenario: WIRED,
        rate: 1_000_000_000,
        observed: true,
        recorded: false,
    },
    Case {
        name: "wired-1000-recorded",
        scenario: WIRED,
        rate: 1_000_000_000,
        observed: true,
        recorded: true,
    },
    Case { name: "cell-70", scenario: CELL, rate: 70_000_000, observed: false, recorded: false },
    Case { name: "cell-140", scenario: CELL, rate: 140_000_000, observed: false, recorded: false },
    Case { name: "cell-140-recorded", scenario: CELL, rate: 140_000_000, observed: true, recorded: true },
];

/// A segment of a connection with timestamps.
fn segment(from: EndId, to: EndId, payload: usize) -> Vec<u8> {
    let timestamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 1];
    let tcp = Tcp {
        source_port: 5_201,
        destination_port: 5_201,
        sequence: 0,
        acknowledgment: 0,
        flags: 0x10,
        window: 500,
        checksum: 0,
        urgent: 0,
        options: &timestamps,
    };
    let header = Ipv4 {
        total_length: (20 + 32 + payload) as u16,
        protocol: protocol::TCP,
        ..Ipv4::between(Ends::v4(from), Ends::v4(to))
    };
    let mut bytes = vec![];
    header.emit(&mut bytes).expect("no options");
    tcp.emit(&mut bytes).expect("whole words");
    bytes.resize(bytes.len() + payload, 7);
    fill(&mut bytes).expect("a packet");
    bytes
}

fn run(case: &Case) {
    let scenario = Scenario::parse(case.scenario, case.name).and_then(|scenario| scenario.resolve());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let names = scenario.ue_names();
    let (scenario, real) = scenario.for_real(&names, &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut cell = Cell::new(&scenario, 1, &real, 1_500).unwrap_or_else(|error| panic!("{error}"));
    if case.observed {
        cell.observe();
    }
    if case.recorded {
        cell.record(u64::MAX);
    }
    let ue = EndId::Ue(0);
    let (mut data, ack) = (segment(EndId::Server, ue, 1_448), segment(ue, EndId::Server, 0));
    let interval = data.len() as u64 * 8_000_000_000 / case.rate;
    let (mut sequence, mut buffer) = (0_u32, Vec::new());
    let mut drive = |cell: &mut Cell, from: Instant, to: Instant| {
        let mut at = from;
        let mut count = 0_u64;
        while at < to {
            // Like the checksum of a real segment; the cell does not read it.
            data[24..28].copy_from_slice(&sequence.to_be_bytes());
            sequence = sequence.wrapping_add(1_448);
            cell.enter(EndId::Server, &data, None, at);
            if count.is_multiple_of(2) {
                cell.enter(ue, &ack, None, at);
            }
            count += 1;
            while cell.leave(&mut buffer).is_some() {}
            let _ = cell.recorder_mut().and_then(|recorder| recorder.take_chunk());
            at += Duration::from_nanos(interval);
        }
    };
    let (warm, end) = (Instant::from_millis(500), Instant::from_millis(5_500));
    drive(&mut cell, Instant::from_millis(1), warm);
    let (before, start) = (cell.counts(), Wall::now());
    drive(&mut cell, warm, end);
    let elapsed = start.elapsed();
    let after = cell.counts();
    let packets = after.left - before.left;
    cell.advance(end + Duration::from_secs(2));
    while cell.leave(&mut buffer).is_some() {}
    let lost = cell.counts().entered - cell.counts().left;
    let virtual_s = (end - warm).as_nanos() as f64 / 1e9;
    println!(
        "{:<22}{packets:>9} packets{:>8.0} ns each{:>12.0} packets/s{:>8.1} x real time, {lost} lost",
        case.name,
        elapsed.as_nanos() as f64 / packets as f64,
        packets as f64 / elapsed.as_secs_f64(),
        virtual_s / elapsed.as_secs_f64(),
    );
}

fn main() {
    let wanted = std::env::args().nth(1);
    for case in CASES.iter().filter(|case| wanted.as_deref().is_none_or(|name| name == case.name)) {
        run(case);
    }
}
