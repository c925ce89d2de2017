//! One end under test: segments are passed to it by hand, and its answers are read.

use airlane_core::{
    Cx, Direction, Duration, Ecn, FlowId, Header, Instant, Mss, Outbox, PacketPool, Silence, TcpFlags,
    TcpHeader, TcpSynOptions, TcpTimestamps, TopicSet,
};
use airlane_transport::{ConnectionState, Path, TcpConfig, TcpEndpoint};

pub(crate) const ACK: TcpFlags = TcpFlags(TcpFlags::ACK);
pub(crate) const SYN: TcpFlags = TcpFlags(TcpFlags::SYN);
pub(crate) const RST: TcpFlags = TcpFlags(TcpFlags::RST);
pub(crate) const FIN: TcpFlags = TcpFlags(TcpFlags::FIN);

/// A header and the bytes behind it.
pub(crate) type Sent = (TcpHeader, u32);

/// A segment without options that acknowledges the SYN.
pub(crate) fn data(sequence: u32) -> TcpHeader {
    TcpHeader { sequence, acknowledgment: 1, window: 60_000, flags: ACK, ..TcpHeader::default() }
}

/// The same with a timestamp.
pub(crate) fn stamped(sequence: u32, value: u32) -> TcpHeader {
    TcpHeader { timestamps: Some(TcpTimestamps { value, echo_reply: 1 }), ..data(sequence) }
}

/// An end whose sequence numbers begin at 0, and the time. The sequence numbers of its peer begin
/// at 0 as well.
pub(crate) struct Table {
    pub(crate) end: TcpEndpoint,
    pool: PacketPool,
    now: Instant,
}

impl Table {
    pub(crate) fn listening(config: TcpConfig) -> Self {
        let end = TcpEndpoint::new(config, Path::new(FlowId(0), Direction::Downlink));
        Self { end, pool: PacketPool::default(), now: Instant::ZERO }
    }

    pub(crate) fn connecting(config: TcpConfig) -> Self {
        let mut table = Self::listening(config);
        table.call(|end, cx| end.connect(cx));
        table
    }

    /// An established end whose peer offers 60,000 bytes and has sent 100 in its timestamps, at 1 ms.
    pub(crate) fn established(config: TcpConfig) -> Self {
        Self::with_window(config, 60_000)
    }

    pub(crate) fn with_window(config: TcpConfig, window: u16) -> Self {
        let mut table = Self::listening(config);
        table.wait(1);
        table.hear_syn(Some(1_460), window);
        table.take(TcpHeader { window, ..stamped(1, 100) }, 0);
        assert_eq!(table.end.state(), ConnectionState::Established);
        table
    }

    /// Receives a SYN with this MSS, all options and this window, which is not scaled.
    pub(crate) fn hear_syn(&mut self, mss: Option<u16>, window: u16) {
        let syn = TcpSynOptions {
            mss: mss.map(Mss),
            window_scale: Some(0),
            sack_permitted: true,
            ..TcpSynOptions::default()
        };
        let timestamps = Some(TcpTimestamps { value: 100, echo_reply: 0 });
        self.take(TcpHeader { window, flags: SYN, syn, timestamps, ..TcpHeader::default() }, 0);
    }

    pub(crate) fn call(&mut self, act: impl FnOnce(&mut TcpEndpoint, &mut Cx<'_>)) -> Vec<Sent> {
        let mut outbox = Outbox::new();
        let mut cx = Cx {
            now: self.now,
            pool: &mut self.pool,
            outbox: &mut outbox,
            topics: TopicSet::NONE,
            probe: &mut Silence,
        };
        act(&mut self.end, &mut cx);
        self.end.flush(&mut cx);
        let sent = outbox.into_iter().map(|(_, packet)| {
            let packet = self.pool.consume(packet);
            let Header::Tcp(header) = packet.header else { panic!("a stranger") };
            (header, packet.payload.len())
        });
        sent.collect()
    }

    pub(crate) fn take(&mut self, header: TcpHeader, payload: u32) -> Vec<Sent> {
        self.call(|end, cx| {
            end.handle_segment(cx, &header, Ecn::NotCapable, payload);
        })
    }

    pub(crate) fn flush(&mut self) -> Vec<Sent> {
        self.call(|_, _| {})
    }

    pub(crate) fn read(&mut self) {
        let now = self.now;
        self.call(|end, _| {
            end.read(now, u64::MAX);
        });
    }

    /// Advances the time without events.
    pub(crate) fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    pub(crate) const fn now_ms(&self) -> u64 {
        self.now.as_nanos() / 1_000_000
    }

    /// Handles the timers that are due.
    pub(crate) fn timeout(&mut self) -> Vec<Sent> {
        if self.end.next_timeout() > self.now {
            return Vec::new();
        }
        self.call(TcpEndpoint::handle_timeout)
    }

    /// The peer does not answer: returns the times in ms of all transmissions, until no timer is due within
    /// this many seconds.
    pub(crate) fn expire(&mut self, seconds: u64) -> Vec<u64> {
        let mut sent = Vec::new();
        let end = self.now + Duration::from_secs(seconds);
        while self.end.next_timeout() <= end {
            self.now = self.now.max(self.end.next_timeout());
            let count = self.timeout().len();
            sent.extend(std::iter::repeat_n(self.now_ms(), count));
        }
        sent
    }
}
