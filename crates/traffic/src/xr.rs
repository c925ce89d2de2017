//! The ends of an application of XR or cloud gaming: frames as bursts of datagrams, after the traffic models
//! of 3GPP TR 38.838 clause 5.
//!
//! A stream sends a frame in each period. The size of a frame and its deviation from the period are drawn from
//! truncated normal distributions. A "packet" of the TR is a frame here: the datagrams of a frame leave
//! together, and the frame has arrived with the last of them. [`Event::FrameSent`] reports which datagrams are
//! those of a frame; they have no content. There is neither retransmission nor rate control.

use airlane_core::{
    Bytes, Cx, DropCause, Duration, Ecn, Event, FrameStream, Header, Instant, Node, Packet, PacketRef,
    Payload, Port, SentFrame, Stream, Topic, UdpHeader,
};
use airlane_transport::Path;

use crate::packets;

/// A normal distribution, of which only values within bounds are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruncatedNormal {
    mean: f64,
    deviation: f64,
    bounds: [f64; 2],
}

impl TruncatedNormal {
    /// Mean and standard deviation are those of the normal distribution before the truncation, as in the TR.
    ///
    /// # Panics
    /// If the mean is not within the bounds, or if these are so close that most draws would be outside.
    #[must_use]
    pub fn new(mean: f64, deviation: f64, bounds: [f64; 2]) -> Self {
        let [low, high] = bounds;
        assert!((low..=high).contains(&mean) && high - low >= deviation, "bounds leave out most values");
        Self { mean, deviation, bounds }
    }

    /// A value, in the unit of the mean.
    pub fn draw(&self, draws: &mut Stream) -> f64 {
        let [low, high] = self.bounds;
        loop {
            let value = self.mean + self.deviation * draws.normal();
            if (low..=high).contains(&value) {
                return value;
            }
        }
    }
}

/// The law of the frames of a stream.
#[derive(Clone, Copy, Debug)]
pub struct FrameLaw {
    /// Which stream it is.
    pub stream: FrameStream,
    /// Time from a frame to the next, without jitter.
    pub period: Duration,
    /// The sizes of frames, in bytes.
    pub size: TruncatedNormal,
    /// The deviations from the period, in nanoseconds, if there is jitter. They must be less than half of it, so that
    /// frames keep their order.
    pub jitter: Option<TruncatedNormal>,
    /// The delay within which a frame has to arrive.
    pub budget: Duration,
}

/// The frames of a stream.
#[derive(Debug)]
pub struct Frames {
    law: FrameLaw,
    draws: Stream,
    /// When the next frame would leave without jitter.
    nominal: Instant,
    next: Instant,
    stop: Instant,
}

impl Frames {
    /// Frames from `begin` on, and before `stop`. With jitter, the first is due after `begin` by its largest deviation, so that
    /// it is not earlier.
    #[must_use]
    pub fn new(law: FrameLaw, begin: Instant, stop: Instant, draws: Stream) -> Self {
        let earlier = law.jitter.map_or(0.0, |jitter| -jitter.bounds[0]);
        let nominal = begin + Duration::from_nanos(earlier as u64);
        let mut frames = Self { law, draws, nominal, next: nominal, stop };
        frames.find_next();
        frames
    }

    /// When the next frame leaves; [`Instant::FAR_FUTURE`] after the last.
    #[must_use]
    pub fn next_at(&self) -> Instant {
        if self.next < self.stop { self.next } else { Instant::FAR_FUTURE }
    }

    /// The size of the frame that leaves next, which is then the one after it.
    pub fn take(&mut self) -> Bytes {
        let size = Bytes(libm::round(self.law.size.draw(&mut self.draws)).max(1.0) as u64);
        self.nominal += self.law.period;
        self.find_next();
        size
    }

    fn find_next(&mut self) {
        self.next = match &self.law.jitter {
            None => self.nominal,
            Some(jitter) => {
                let deviation = jitter.draw(&mut self.draws) as i64;
                let nanos = self.nominal.as_nanos().saturating_add_signed(deviation);
                Instant::ZERO + Duration::from_nanos(nanos)
            }
        };
    }
}

/// An end of an application of XR, which sends the frames of its streams and counts what arrives.
#[derive(Debug)]
pub struct XrEnd {
    path: Path,
    ecn: Ecn,
    /// Most bytes of a frame in a datagram.
    payload: Bytes,
    streams: Vec<Frames>,
    /// Counts the datagrams that it sends.
    serial: u64,
}

impl XrEnd {
    /// A node that sends the frames of `streams` along `path`, in datagrams of at most `payload` bytes.
    ///
    /// # Panics
    /// If the payload is zero.
    #[must_use]
    pub fn new(path: Path, ecn: Ecn, payload: Bytes, streams: Vec<Frames>) -> Self {
        assert!(payload > Bytes::ZERO, "a datagram has a payload");
        Self { path, ecn, payload, streams, serial: 0 }
    }

    /// Sends the frame that is due first, if one is. It has its due time as send time, even if this call is late.
    fn send_due(&mut self, cx: &mut Cx<'_>) -> bool {
        let Some(frames) = self.streams.iter_mut().min_by_key(|frames| frames.next_at()) else {
            return false;
        };
        let due = frames.next_at();
        if due > cx.now {
            return false;
        }
        let (law, size) = (frames.law, frames.take());
        if cx.wants(Topic::Frame) {
            let frame = SentFrame {
                stream: law.stream,
                sent_at: due,
                first: self.serial,
                packets: size.get().div_ceil(self.payload.get()) as u32,
                size,
                budget: law.budget,
            };
            cx.emit(&Event::FrameSent { flow: self.path.flow, frame });
        }
        let mut rest = size;
        while rest > Bytes::ZERO {
            let part = rest.min(self.payload);
            self.send(cx, part, due);
            rest -= part;
        }
        true
    }

    fn send(&mut self, cx: &mut Cx<'_>, bytes: Bytes, due: Instant) {
        let header = Header::Udp(UdpHeader { serial: self.serial });
        self.serial += 1;
        let payload = Payload::Length(bytes.get() as u32);
        let mut packet = Packet::new(self.path.flow, self.path.direction, header, payload, due);
        packet.ecn = self.ecn;
        packets::send(cx, packet, false);
    }
}

impl Node for XrEnd {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        if !matches!(cx.pool.get(&packet).header, Header::Udp(_)) {
            return cx.discard(packet, DropCause::Endpoint);
        }
        packets::receive(cx, packet);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        while self.send_due(cx) {}
    }

    fn next_timeout(&self) -> Option<Instant> {
        let at = self.streams.iter().map(Frames::next_at).min()?;
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    fn packets_held(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests;
