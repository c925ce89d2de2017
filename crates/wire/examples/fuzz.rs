//! Reads and writes random packets for the given time, and prints what happened to them:
//!
//! `cargo run -p airlane-wire --profile test --example fuzz -- MODE SECONDS SEED`, where MODE is `valid` (packets
//! that must survive a round trip) or `damaged` (bytes that may be anything).

#[path = "../tests/all/generate/mod.rs"]
mod generate;

use std::collections::BTreeMap;
use std::env::args;
use std::process::ExitCode;

use airlane_core::{Direction, Ecn, FlowId, Instant, PacketPool};
use airlane_wire::{
    Ends, Error, FlowLimits, FlowTable, Found, GtpU, IpPacket, Layer, Transport, checksum, emit, outside,
    segment,
};
use generate::Generator;

/// Counts of packets by outcome.
#[derive(Default)]
struct Counts {
    pool: PacketPool,
    flows: Option<FlowTable>,
    flows_found: BTreeMap<&'static str, u64>,
    packets: u64,
    bytes: u64,
    round_trips: BTreeMap<&'static str, u64>,
    rejected: BTreeMap<(Option<Layer>, &'static str), u64>,
}

impl Counts {
    /// Reads bytes in every way that there is; panics if a round trip changes a bit.
    fn try_packet(&mut self, bytes: &[u8], generator: &mut Generator) -> Result<(), Error> {
        self.packets += 1;
        self.bytes += bytes.len() as u64;
        let parsed = IpPacket::parse(bytes);
        let mut scratch = bytes.to_vec();
        let _ = (checksum::verify_header(bytes), checksum::verify_transport(bytes));
        let (start, offset) = (generator.below(200), generator.below(200));
        let _ = checksum::complete(&mut scratch, start, offset);
        let _ = checksum::fill(&mut scratch);
        let _ = checksum::leave_undone(&mut scratch);
        self.try_outside(bytes);
        self.try_flow(bytes, generator);
        let packet = parsed.inspect_err(|error| *self.rejected.entry(error.cause()).or_default() += 1)?;
        let mut again = Vec::with_capacity(bytes.len());
        packet.emit(&mut again)?;
        assert_eq!(again, &bytes[..packet.len()], "a round trip changed {bytes:02x?}");
        let kind = match packet.transport {
            Transport::Tcp(tcp) => {
                let mut options = Vec::new();
                let mut whole = true;
                for option in tcp.options() {
                    match option {
                        Ok(option) => option.emit(&mut options),
                        Err(_) => whole = false,
                    }
                }
                assert!(tcp.options.starts_with(&options) && (!whole || options == tcp.options));
                if whole { "TCP" } else { "TCP with wrong options" }
            }
            Transport::Udp(_) => "UDP",
            Transport::Icmp(_) => "ICMP",
            Transport::Other if packet.ip.is_fragment() => "fragment",
            Transport::Other => "other",
        };
        *self.round_trips.entry(kind).or_default() += 1;
        Ok(())
    }

    /// Finds the flow of bytes, and cuts them into segments.
    fn try_flow(&mut self, bytes: &[u8], generator: &mut Generator) {
        let table = self.flows.get_or_insert_with(|| FlowTable::new(FlowLimits::for_flows(0, 1_000)));
        let direction = if generator.chance(0.5) { Direction::Uplink } else { Direction::Downlink };
        let found = table.find(bytes, direction, Instant::from_millis(self.packets));
        let kind = match found {
            Ok(Found::Known(_)) => "known flow",
            Ok(Found::New(_)) => "new flow",
            Ok(Found::Stray) => "stray",
            Ok(Found::Full) => "table full",
            Err(_) => "no flow",
        };
        *self.flows_found.entry(kind).or_default() += 1;
        while table.poll_ended().is_some() {}
        let size = 1 + generator.below(2_000) as u16;
        if let Ok(mut segments) = segment::Segments::new(bytes, size) {
            let mut out = Vec::new();
            for _ in 0..4 {
                out.clear();
                if !segments.next_into(&mut out) {
                    break;
                }
                assert_ne!(checksum::verify_header(&out), checksum::Verdict::Wrong);
                assert_ne!(checksum::verify_transport(&out), checksum::Verdict::Wrong);
            }
        }
    }

    /// Reads the bytes as a packet of the simulator, and makes the changes of a router.
    fn try_outside(&mut self, bytes: &[u8]) {
        let arrival =
            outside::Arrival { flow: FlowId(0), direction: Direction::Downlink, now: Instant::ZERO };
        let Ok(mut packet) = outside::packet(&mut self.pool, bytes, arrival) else { return };
        let ends = Ends {
            source: [10, 0, 0, 1].into(),
            source_port: 1,
            destination: [10, 0, 0, 2].into(),
            destination_port: 2,
        };
        let mut again = Vec::with_capacity(bytes.len());
        let whole = emit(&packet, &ends, usize::MAX, &mut again).expect("it has bytes");
        assert_eq!(again, &bytes[..whole], "a way through the simulator changed {bytes:02x?}");
        let before = checksum::verify_header(&again);
        packet.set_ecn(Ecn::CongestionExperienced);
        packet.set_code_point(bytes.len() as u8);
        let _ = packet.decrement_hop_limit();
        again.clear();
        emit(&packet, &ends, usize::MAX, &mut again).expect("it has bytes");
        assert_eq!(checksum::verify_header(&again), before, "a change broke or mended {bytes:02x?}");
        let handle = self.pool.insert(packet);
        let ended = self.pool.consume(handle);
        self.pool.recycle(ended);
    }

    /// Reads the bytes as a tunnel header.
    fn try_tunnel(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.packets += 1;
        self.bytes += bytes.len() as u64;
        let parsed = GtpU::parse(bytes);
        let (header, inner) =
            parsed.inspect_err(|error| *self.rejected.entry(error.cause()).or_default() += 1)?;
        let mut again = Vec::with_capacity(bytes.len());
        header.emit(&mut again);
        again.extend_from_slice(inner);
        assert_eq!(again, &bytes[..8 + usize::from(header.length)], "a round trip changed {bytes:02x?}");
        *self.round_trips.entry("GTP-U").or_default() += 1;
        Ok(())
    }

    fn print(&self, mode: &str, seconds: u64, seed: u64) {
        println!(
            "{mode}, {seconds} s, seed {seed}: {} packets, {} bytes, no panic",
            self.packets, self.bytes
        );
        for (kind, count) in &self.round_trips {
            println!("  written as read: {kind:<24} {count:>12}");
        }
        for (kind, count) in &self.flows_found {
            println!("  classified: {kind:<29} {count:>12}");
        }
        for ((layer, cause), count) in &self.rejected {
            let layer = layer.map_or("-", Layer::name);
            println!("  rejected: {:<31} {count:>12}", format!("{layer}, {cause}"));
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = args().skip(1).collect();
    let number = |i: usize| arguments.get(i).and_then(|text| text.parse::<u64>().ok());
    let (Some(mode @ ("valid" | "damaged")), Some(seconds), Some(seed)) =
        (arguments.first().map(String::as_str), number(1), number(2))
    else {
        eprintln!("usage: fuzz valid|damaged SECONDS SEED");
        return ExitCode::FAILURE;
    };
    let mut generator = Generator::new(seed);
    let mut counts = Counts::default();
    #[expect(clippy::disallowed_types, reason = "the duration of the fuzzing, not of anything simulated")]
    let begin = std::time::Instant::now();
    while begin.elapsed().as_secs() < seconds {
        for _ in 0..1_000 {
            let damaged = mode == "damaged";
            let fine = !damaged || generator.chance(0.5);
            let mut bytes = generator.packet(fine);
            let mut tunnelled = generator.tunnelled(&bytes);
            if damaged {
                if generator.chance(0.1) {
                    let length = generator.below(120);
                    bytes = generator.noise(length);
                }
                generator.damage(&mut bytes);
                generator.damage(&mut tunnelled);
            }
            let results = [counts.try_packet(&bytes, &mut generator), counts.try_tunnel(&tunnelled)];
            assert!(damaged || results.iter().all(Result::is_ok), "{results:?} for {bytes:02x?}");
        }
    }
    counts.print(mode, seconds, seed);
    ExitCode::SUCCESS
}
