//! The bearer as the MAC sees it.

use airlane_core::{
    Cx, DropCause, FlowId, Header, Outbox, Packet, PacketPool, Payload, Silence, Stream, TopicSet, UdpHeader,
};

use super::*;

mod um;

/// A bearer with everything that it needs to be called.
struct Rig {
    bearer: RadioBearer,
    pool: PacketPool,
    outbox: Outbox,
    now: Instant,
    /// Serials of what came out of the far end, in order.
    delivered: Vec<u64>,
    submitted: u64,
}

impl Rig {
    fn new(config: &BearerConfig) -> Self {
        Self {
            bearer: RadioBearer::new(config),
            pool: PacketPool::default(),
            outbox: Vec::new(),
            now: Instant::ZERO,
            delivered: Vec::new(),
            submitted: 0,
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
        f(&mut self.bearer, &mut cx)
    }

    /// Submits a downlink packet that is `sdu` bytes long as an IP packet, the next serial in it.
    fn submit(&mut self, sdu: u32) {
        let header = Header::Udp(UdpHeader { serial: self.submitted });
        let payload = Payload::Length(sdu - 28);
        self.submitted += 1;
        let packet = Packet::new(FlowId(0), Direction::Downlink, header, payload, self.now);
        let packet = self.pool.insert(packet);
        self.call(|bearer, cx| bearer.submit(cx, Direction::Downlink, packet));
    }

    /// Fills a downlink grant and hands out its PDUs.
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

    /// Lets time pass, with its timeouts.
    fn advance(&mut self, to: Instant) {
        while let Some(at) = self.bearer.next_timeout().filter(|&at| at <= to) {
            assert!(at >= self.now, "a timeout in the past");
            self.now = at;
            let (mut downlink, mut uplink) = (Vec::new(), Vec::new());
            self.call(|bearer, cx| bearer.handle_timeout(cx, &mut downlink, &mut uplink));
            assert_ne!(self.bearer.next_timeout(), Some(at), "a timeout that does not go away");
            self.take(downlink);
            assert!(uplink.is_empty());
        }
        self.now = to;
    }

    fn take(&mut self, packets: Vec<PacketRef>) {
        for packet in packets {
            match self.pool.consume(packet).header {
                Header::Udp(udp) => self.delivered.push(udp.serial),
                Header::Tcp(_) => unreachable!("only UDP is submitted"),
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
        assert_eq!(self.submitted, self.delivered.len() as u64 + discarded + held);
    }
}

fn sizes(pdus: &[Pdu]) -> Vec<u64> {
    pdus.iter().map(|pdu| pdu.size().get()).collect()
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A configuration that is large enough not to get in the way.
fn roomy(mode: RlcMode) -> BearerConfig {
    BearerConfig { mode, buffer: Bytes(1 << 30), ..BearerConfig::lena() }
}
