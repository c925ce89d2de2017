//! Two bearers of a UE: which packet uses which, how a block is shared, and what a handover forwards.

use airlane_core::{Ecn, FlowId, Header, Packet, PacketPool, Payload, Seeds, Silence, TopicSet, UdpHeader};

use super::*;
use crate::bearer::RlcConfig;
use crate::pdcp::PdcpConfig;
use crate::rlc::nr::NrRlc;
use crate::rlc::{AmConfig, Aqm, UmConfig};
use crate::tests::bearers::NR_UM;

const MS: u64 = 1_000_000;
/// An SDU of 1000 bytes and the PDCP header of 2.
const SDU: u64 = 1002;

fn config(rlc: RlcConfig) -> BearerConfig {
    let pdcp = PdcpConfig { sn_bits: 12, discard: None, retransmission_queue: None, status_report: true };
    BearerConfig { rlc, buffer: Bytes(512 * 1024), aqm: Aqm::DropTail, pdcp, pdu_overhead: Bytes::ZERO }
}

fn um() -> RlcConfig {
    RlcConfig::Um(UmConfig { sn_bits: 10, t_reordering: Duration::from_millis(50) })
}

fn am() -> RlcConfig {
    RlcConfig::Am(AmConfig {
        sn_bits: 10,
        t_poll_retransmit: Duration::from_millis(120),
        t_reordering: Duration::from_millis(50),
        t_status_prohibit: Duration::from_millis(50),
        poll_pdu: Some(64),
        poll_byte: None,
        max_retx: 32,
        status_alone: false,
    })
}

/// Bearers, and the world around them.
struct Rig {
    bearers: Bearers,
    pool: PacketPool,
    outbox: Vec<(airlane_core::Port, PacketRef)>,
    now: Instant,
}

impl Rig {
    /// With these prioritised bit rates, of L4S and of the default bearer.
    fn new(rlc: fn() -> RlcConfig, [rate, default_rate]: [u64; 2]) -> Self {
        let l4s = L4sBearerConfig {
            bearer: config(rlc()),
            rate: BitRate(rate),
            default_rate: BitRate(default_rate),
            bucket: Duration::from_millis(100),
        };
        let stream = |name: &str| Seeds::new(1).stream(name);
        let bearers = Bearers::new(&config(rlc()), Some(&l4s), false, Instant::ZERO, stream);
        Self { bearers, pool: PacketPool::default(), outbox: Vec::new(), now: Instant::ZERO }
    }

    fn call<R>(&mut self, act: impl FnOnce(&mut Bearers, &mut Cx<'_>) -> R) -> R {
        let (topics, probe) = (TopicSet::NONE, &mut Silence);
        let mut cx = Cx { now: self.now, pool: &mut self.pool, outbox: &mut self.outbox, topics, probe };
        act(&mut self.bearers, &mut cx)
    }

    /// Submits packets of 1000 bytes with this ECN field.
    fn submit(&mut self, direction: Direction, ecn: Ecn, packets: u64) {
        for serial in 0..packets {
            let header = Header::Udp(UdpHeader { serial });
            let mut packet = Packet::new(FlowId(0), direction, header, Payload::Length(972), self.now);
            assert_eq!(packet.size, Bytes(1000));
            packet.ecn = ecn;
            let packet = self.pool.insert(packet);
            self.call(|bearers, cx| bearers.submit(cx, direction, packet));
        }
    }

    /// Bytes that wait in the default bearer, and in that of L4S.
    fn waiting(&self, direction: Direction) -> [u64; 2] {
        let of = |bearer: &RadioBearer| bearer.queue(direction).get();
        [of(&self.bearers.default), of(&self.bearers.dedicated.as_ref().unwrap().bearers[0].bearer)]
    }

    /// Builds a block.
    fn block(&mut self, direction: Direction, size: u64) -> MacPdu {
        let mut block = MacPdu::default();
        let used = self.call(|bearers, cx| bearers.transmit(cx, direction, Bytes(size), &mut block));
        assert!(used.get() <= size, "{used} in {size}");
        block
    }

    /// The ECN fields of the packets that the other end delivers from a block.
    fn delivered(&mut self, direction: Direction, block: &MacPdu) -> Vec<Ecn> {
        let mut deliver = Vec::new();
        self.call(|bearers, cx| bearers.receive(cx, direction, block, &mut deliver));
        deliver.into_iter().map(|packet| self.pool.consume(packet).ecn).collect()
    }
}

/// Of NR, without headers of SDAP in either direction.
fn nr_um() -> RlcConfig {
    crate::tests::bearers::nr(NrRlc::Um(NR_UM)).rlc
}

#[test]
fn qos_flows_of_nr_use_their_bearers() {
    for direction in [Direction::Downlink, Direction::Uplink] {
        let mut rig = Rig::new(nr_um, [0, 1_000_000]);
        rig.submit(direction, Ecn::Capable0, 3);
        rig.submit(direction, Ecn::Capable1, 3);
        rig.submit(direction, Ecn::CongestionExperienced, 1);
        assert_eq!(rig.waiting(direction), [3 * SDU, 4 * SDU]);
        // Each of the seven PDUs has one byte of RLC.
        assert_eq!(rig.bearers.backlog(direction, rig.now), Bytes(7 * (SDU + 1)));
        // The low-latency flow has the higher priority.
        let block = rig.block(direction, 4 * (SDU + 1));
        let delivered = rig.delivered(direction, &block);
        assert_eq!(delivered, [Ecn::Capable1, Ecn::Capable1, Ecn::Capable1, Ecn::CongestionExperienced]);
        let block = rig.block(direction, 3 * (SDU + 1));
        assert_eq!(rig.delivered(direction, &block), [Ecn::Capable0; 3]);
    }
}

#[test]
fn packets_with_ect1_or_ce_use_the_l4s_bearer() {
    for direction in [Direction::Downlink, Direction::Uplink] {
        let mut rig = Rig::new(um, [0, 1_000_000]);
        rig.submit(direction, Ecn::NotCapable, 1);
        rig.submit(direction, Ecn::Capable0, 2);
        assert_eq!(rig.waiting(direction), [3 * SDU, 0]);
        rig.submit(direction, Ecn::Capable1, 3);
        rig.submit(direction, Ecn::CongestionExperienced, 1);
        assert_eq!(rig.waiting(direction), [3 * SDU, 4 * SDU]);
        assert_eq!(rig.bearers.queue(direction), Bytes(7 * SDU));
        // Seven packets and two headers of RLC UM, of at most 2 bytes and 12 bits for each further SDU.
        let block = rig.block(direction, 7 * SDU + 20);
        let delivered = rig.delivered(direction, &block);
        assert_eq!(delivered.len(), 7);
        assert_eq!(delivered.iter().filter(|ecn| **ecn == Ecn::Capable1).count(), 3);
        assert_eq!((rig.bearers.packets_held(), rig.waiting(direction)), (0, [0, 0]));
    }
}

#[test]
fn the_l4s_bearer_has_priority_beyond_the_prioritised_bit_rates() {
    let mut rig = Rig::new(um, [0, 1_000_000]);
    rig.submit(Direction::Downlink, Ecn::NotCapable, 100);
    rig.submit(Direction::Downlink, Ecn::Capable1, 100);
    // In each of 20 slots, 1 Mbit/s gives the default bearer 125 bytes of 2000, of which RLC's headers take some.
    for _ in 0..20 {
        rig.now += Duration::from_nanos(MS);
        let _ = rig.block(Direction::Downlink, 2000);
    }
    let [default, l4s] = rig.waiting(Direction::Downlink).map(|left| 100 * SDU - left);
    assert!((20 * 115..=20 * 125).contains(&default), "{default}");
    assert!((20 * 1865..=20 * 1875).contains(&l4s), "{l4s}");
}

#[test]
fn a_bucket_holds_what_was_not_used_for_its_duration() {
    let mut rig = Rig::new(um, [0, 8_000_000]);
    rig.now += Duration::from_nanos(5_000 * MS); // 8 Mbit/s for 100 ms: 100 kB
    rig.submit(Direction::Downlink, Ecn::NotCapable, 200);
    rig.submit(Direction::Downlink, Ecn::Capable1, 200);
    let _ = rig.block(Direction::Downlink, 150_000);
    let [default, l4s] = rig.waiting(Direction::Downlink).map(|left| 200 * SDU - left);
    assert!((99_500..=100_000).contains(&default), "{default}");
    assert!((49_500..=50_000).contains(&l4s), "{l4s}");
}

#[test]
fn the_l4s_bearer_gets_its_own_rate_first() {
    let mut rig = Rig::new(um, [8_000_000, 100_000_000]);
    rig.now += Duration::from_nanos(MS); // 1000 bytes and 12,500
    rig.submit(Direction::Downlink, Ecn::NotCapable, 20);
    rig.submit(Direction::Downlink, Ecn::Capable1, 20);
    let _ = rig.block(Direction::Downlink, 3000);
    let [default, l4s] = rig.waiting(Direction::Downlink).map(|left| 20 * SDU - left);
    assert!((1980..=2000).contains(&default) && (980..=1000).contains(&l4s), "{default} {l4s}");
}

#[test]
fn a_bearer_without_data_leaves_the_block_to_the_other() {
    for ecn in [Ecn::NotCapable, Ecn::Capable1] {
        let mut rig = Rig::new(um, [1_000_000, 1_000_000]);
        rig.now += Duration::from_nanos(MS);
        rig.submit(Direction::Uplink, ecn, 10);
        let block = rig.block(Direction::Uplink, 5000);
        // An SDU that is not complete takes part of the block; the headers take at most 20 bytes.
        assert!(rig.waiting(Direction::Uplink).iter().sum::<u64>() <= 10 * SDU - 4980);
        assert_eq!(rig.delivered(Direction::Uplink, &block), vec![ecn; 4]);
    }
}

/// Both bearers leave with their own COUNTs and SN STATUS TRANSFER, and everything arrives once, in the order of each
/// bearer.
#[test]
fn a_handover_forwards_the_data_of_both_bearers() {
    let mut rig = Rig::new(am, [0, 1_000_000]);
    rig.submit(Direction::Downlink, Ecn::Capable0, 10);
    rig.submit(Direction::Downlink, Ecn::Capable1, 10);
    rig.now += Duration::from_nanos(100 * MS);
    let block = rig.block(Direction::Downlink, 15_000); // 12,500 of them for the default bearer first
    assert_eq!(block.by_bearer().count(), 2, "both are in it");
    // The block is lost, and the UE leaves.
    let mut out = Departure::default();
    rig.call(|bearers, cx| bearers.leave(cx, HandoverMode::Lossless, &mut out));
    let identities: Vec<_> = out.sn_status.iter().map(|status| status.e_rab).collect();
    assert_eq!(identities, [DEFAULT_BEARER, DEFAULT_BEARER + 1]);
    let of = |e_rab| out.forwarded.iter().filter(|sdu| sdu.e_rab == e_rab).count();
    assert_eq!([of(DEFAULT_BEARER), of(DEFAULT_BEARER + 1)], [10, 10]);
    assert!(rig.bearers.awaits_sn_status());
    assert_eq!(rig.bearers.handover_statistics().forwarded, 20);
    for status in out.sn_status.drain(..) {
        rig.call(|bearers, cx| bearers.accept_sn_status(cx, &status));
    }
    for sdu in out.forwarded.drain(..) {
        rig.call(|bearers, cx| bearers.accept_forwarded(cx, sdu));
    }
    rig.call(|bearers, cx| bearers.arrive(cx));
    let mut delivered = Vec::new();
    for _ in 0..10 {
        rig.now += Duration::from_nanos(MS);
        let block = rig.block(Direction::Downlink, 5000);
        delivered.extend(rig.delivered(Direction::Downlink, &block));
    }
    delivered.sort_by_key(|ecn| *ecn == Ecn::Capable1);
    assert_eq!(delivered, [vec![Ecn::Capable0; 10], vec![Ecn::Capable1; 10]].concat());
    assert_eq!(rig.bearers.queue(Direction::Downlink), Bytes::ZERO);
}

#[test]
fn a_release_discards_the_packets_of_both() {
    let mut rig = Rig::new(am, [0, 1_000_000]);
    rig.submit(Direction::Downlink, Ecn::Capable1, 3);
    rig.submit(Direction::Uplink, Ecn::NotCapable, 2);
    assert_eq!(rig.bearers.packets_held(), 5);
    rig.call(|bearers, cx| bearers.discard(cx, DropCause::NoRoute));
    assert_eq!((rig.bearers.packets_held(), rig.pool.live()), (0, 0));
}
