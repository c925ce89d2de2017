//! The cost of a packet in a radio bearer, of LTE or NR: packets of 1428 bytes are submitted, sent in grants of
//! 9422 bytes and received, with one block in ten 8 ms late, so that reordering is active.
//!
//! It reads no clock. To measure, count the instructions of two run lengths and divide the difference:
//!
//! ```sh
//! cargo build --release --example bearer_cost
//! for n in 200000 1200000; do
//!     valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/bearer_cost am $n
//! done
//! ```

use std::collections::VecDeque;

use airlane_core::{
    Bytes, Cx, Direction, Duration, FlowId, Header, Instant, Packet, PacketPool, Payload, Seeds, Silence,
    TopicSet, UdpHeader,
};
use airlane_ran::bearer::{BearerConfig, RadioBearer, RlcConfig};
use airlane_ran::pdcp::PdcpConfig;
use airlane_ran::pdcp::nr::ReorderingConfig;
use airlane_ran::rlc::nr::{self, NrConfig, NrRlc};
use airlane_ran::rlc::{AmConfig, Aqm, Pdu, UmConfig};
use airlane_ran::sdap::SdapHeaders;

const GRANT: Bytes = Bytes(9422);
const BACKLOG: Bytes = Bytes(40_000);
const DELAY: usize = 8;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(rlc) = arguments.get(1).and_then(|mode| layer_2(mode)) else {
        return eprintln!("usage: bearer_cost um|am|nr-um|nr-am PACKETS");
    };
    let packets: u64 = arguments.get(2).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let discard = Some(Duration::from_millis(150));
    let sn_bits = if matches!(rlc, RlcConfig::Nr(_)) { 18 } else { 12 };
    let pdcp = PdcpConfig { sn_bits, discard, retransmission_queue: None, status_report: true };
    let (buffer, pdu_overhead) = (Bytes(512 * 1024), Bytes::ZERO);
    let config = BearerConfig { rlc, buffer, aqm: Aqm::DropTail, pdcp, pdu_overhead };
    let mut bearer = RadioBearer::new(&config, |_| Seeds::new(1).stream("queue"));
    let mut pool = PacketPool::with_capacity(1024);
    let mut outbox = Vec::new();
    // Blocks under way; one in ten is delayed by 8 more slots.
    let mut air: VecDeque<Vec<Pdu>> = (0..=2 * DELAY).map(|_| Vec::new()).collect();
    let (mut status, mut delivered) = (Vec::new(), Vec::new());
    let (mut uplink, mut received, mut slot) = (Vec::new(), 0_u64, 0_u64);
    while received < packets {
        slot += 1;
        let now = Instant::ZERO + Duration::from_millis(slot);
        let mut cx =
            Cx { now, pool: &mut pool, outbox: &mut outbox, topics: TopicSet::NONE, probe: &mut Silence };
        if bearer.next_timeout().is_some_and(|at| at <= now) {
            bearer.handle_timeout(&mut cx, &mut delivered, &mut uplink);
        }
        while bearer.queue(Direction::Downlink) < BACKLOG {
            let header = Header::Udp(UdpHeader::default());
            let packet = Packet::new(FlowId(0), Direction::Downlink, header, Payload::Length(1400), now);
            let packet = cx.pool.insert(packet);
            bearer.submit(&mut cx, Direction::Downlink, packet);
        }
        let mut pdus = air.pop_front().expect("as many places as at the start");
        bearer.receive(&mut cx, Direction::Downlink, &pdus, &mut delivered);
        pdus.clear();
        air.push_back(pdus);
        let delay = if slot.is_multiple_of(10) { 2 * DELAY } else { DELAY };
        let _ = bearer.transmit(&mut cx, Direction::Downlink, GRANT, &mut air[delay]);
        if bearer.buffer_status(Direction::Uplink, now).total() > Bytes::ZERO {
            let _ = bearer.transmit(&mut cx, Direction::Uplink, Bytes(200), &mut status);
            bearer.receive(&mut cx, Direction::Uplink, &status, &mut uplink);
            status.clear();
        }
        received += delivered.len() as u64;
        for packet in delivered.drain(..) {
            let _ = cx.pool.consume(packet);
        }
    }
    println!("{received} packets in {slot} slots");
}

fn layer_2(mode: &str) -> Option<RlcConfig> {
    let t_reordering = Duration::from_millis(50);
    Some(match mode {
        "um" => RlcConfig::Um(UmConfig { sn_bits: 10, t_reordering }),
        "am" => RlcConfig::Am(AmConfig {
            sn_bits: 10,
            t_poll_retransmit: Duration::from_millis(120),
            t_reordering,
            t_status_prohibit: Duration::from_millis(50),
            poll_pdu: Some(64),
            poll_byte: Some(Bytes(750_000)),
            max_retx: 32,
            status_alone: false,
        }),
        "nr-um" => of_nr(NrRlc::Um(nr::UmConfig { sn_bits: 12, t_reassembly: t_reordering })),
        "nr-am" => of_nr(NrRlc::Am(nr::AmConfig {
            sn_bits: 18,
            t_poll_retransmit: Duration::from_millis(120),
            t_reassembly: t_reordering,
            t_status_prohibit: Duration::from_millis(50),
            poll_pdu: Some(64),
            poll_byte: Some(Bytes(750_000)),
            max_retx: 32,
        })),
        _ => return None,
    })
}

fn of_nr(rlc: NrRlc) -> RlcConfig {
    let reordering = ReorderingConfig { t_reordering: Some(Duration::from_millis(100)), out_of_order: false };
    RlcConfig::Nr(NrConfig { rlc, reordering, sdap: SdapHeaders { downlink: false, uplink: true } })
}
