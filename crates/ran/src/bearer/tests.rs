//! The bearer from the view of the MAC.

use airlane_core::{
    Cx, DropCause, FlowId, Header, Outbox, Packet, PacketPool, Payload, Seeds, Silence, Stream, TopicSet,
    UdpHeader,
};

use super::*;
use crate::rlc::DataPdu;
use crate::rlc::{AmConfig, UmConfig};
use crate::tests::bearers::*;

mod am;
mod handover;
mod nr;
mod tm;
mod um;

/// A bearer with its environment.
struct Rig {
    bearer: RadioBearer,
    pool: PacketPool,
    outbox: Outbox,
    now: Instant,
    /// Serials of the SDUs delivered at the far end, in order.
    delivered: Vec<u64>,
    submitted: u64,
    /// The same of the uplink.
    delivered_uplink: Vec<u64>,
    submitted_uplink: u64,
}

impl Rig {
    fn new(config: &BearerConfig) -> Self {
        Self {
            bearer: RadioBearer::new(config, |_| Seeds::new(1).stream("queue")),
            pool: PacketPool::default(),
            outbox: Vec::new(),
            now: Instant::ZERO,
            delivered: Vec::new(),
            submitted: 0,
            delivered_uplink: Vec::new(),
            submitted_uplink: 0,
        }
    }

    fn call<R>(&mut self, f: impl FnOnce(&mut RadioBearer, &mut Cx<'_>) -> R) -> R {
        let mut cx = Cx {
            now: self.now,
            pool: &mut self.pool,
            outbox: &mut self.outbox,
            topics: TopicSet::NONE,
            probe: &mut Silence,
        };
        let result = f(&mut self.bearer, &mut cx);
        for direction in [Direction::Downlink, Direction::Uplink] {
            let (has, bytes) =
                (self.bearer.has_backlog(direction, self.now), self.bearer.backlog(direction, self.now));
            assert_eq!(has, bytes > Bytes::ZERO, "{direction:?} has {bytes}");
        }
        result
    }

    /// Submits a downlink packet of `sdu` bytes as an IP packet, with the next serial.
    fn submit(&mut self, sdu: u32) {
        self.submit_in(Direction::Downlink, sdu);
    }

    fn submit_in(&mut self, direction: Direction, sdu: u32) {
        let submitted = match direction {
            Direction::Downlink => &mut self.submitted,
            Direction::Uplink => &mut self.submitted_uplink,
        };
        let header = Header::Udp(UdpHeader { serial: *submitted });
        *submitted += 1;
        let packet = Packet::new(FlowId(0), direction, header, Payload::Length(sdu - 28), self.now);
        let packet = self.pool.insert(packet);
        self.call(|bearer, cx| bearer.submit(cx, direction, packet));
    }

    /// Fills a downlink grant and returns its PDUs.
    fn transmit(&mut self, grant: u64) -> Vec<Pdu> {
        self.transmit_in(Direction::Downlink, grant)
    }

    fn transmit_in(&mut self, direction: Direction, grant: u64) -> Vec<Pdu> {
        let mut out = Vec::new();
        let used = self.call(|bearer, cx| bearer.transmit(cx, direction, Bytes(grant), &mut out));
        assert_eq!(used, out.iter().map(Pdu::size).sum());
        assert!(used <= Bytes(grant));
        out
    }

    fn receive(&mut self, pdus: &[Pdu]) {
        self.receive_in(Direction::Downlink, pdus);
    }

    fn receive_in(&mut self, direction: Direction, pdus: &[Pdu]) {
        let mut out = Vec::new();
        self.call(|bearer, cx| bearer.receive(cx, direction, pdus, &mut out));
        self.take(out);
    }

    /// Advances the time and handles timeouts.
    fn advance(&mut self, to: Instant) {
        while let Some(at) = self.bearer.next_timeout().filter(|&at| at <= to) {
            assert!(at >= self.now, "a timeout in the past");
            self.now = at;
            let (mut downlink, mut uplink) = (Vec::new(), Vec::new());
            self.call(|bearer, cx| bearer.handle_timeout(cx, &mut downlink, &mut uplink));
            assert_ne!(self.bearer.next_timeout(), Some(at), "a timeout that does not go away");
            self.take(downlink);
            self.take(uplink);
        }
        self.now = to;
    }

    fn take(&mut self, packets: Vec<PacketRef>) {
        for packet in packets {
            let packet = self.pool.consume(packet);
            let Header::Udp(udp) = packet.header else { unreachable!("only UDP is submitted") };
            match packet.direction {
                Direction::Downlink => self.delivered.push(udp.serial),
                Direction::Uplink => self.delivered_uplink.push(udp.serial),
            }
        }
    }

    fn status(&self) -> BufferStatus {
        self.bearer.buffer_status(Direction::Downlink, self.now)
    }

    fn discarded(&self, cause: DropCause) -> u64 {
        self.pool.discarded(cause)
    }

    /// Submitted = delivered + discarded + held, and the pool agrees.
    fn check_conservation(&self) {
        assert_eq!(self.pool.live(), self.bearer.packets_held());
        let discarded: u64 = DropCause::ALL.iter().map(|&cause| self.pool.discarded(cause)).sum();
        let held = self.bearer.packets_held() as u64;
        let delivered = (self.delivered.len() + self.delivered_uplink.len()) as u64;
        assert_eq!(self.submitted + self.submitted_uplink, delivered + discarded + held);
    }
}

fn sizes(pdus: &[Pdu]) -> Vec<u64> {
    pdus.iter().map(|pdu| pdu.size().get()).collect()
}

fn data(pdus: &[Pdu]) -> Vec<DataPdu> {
    pdus.iter()
        .map(|pdu| match pdu {
            Pdu::Data(data) => *data,
            Pdu::Status(_) => panic!("a STATUS PDU"),
        })
        .collect()
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A configuration whose limits are never reached.
fn roomy(mode: RlcMode) -> BearerConfig {
    BearerConfig { buffer: Bytes(1 << 30), ..lena(mode) }
}
