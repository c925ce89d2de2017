//! The paths of flows over the kernel's Multipath TCP, as far as they can be seen at the interfaces of guests.

use std::net::Ipv4Addr;

use airlane_assembly::{FlowEnd, KernelFlow, KernelPath};
use airlane_core::order::Order;
use airlane_core::{
    BitRate, Bytes, Direction, Duration, Event, Header, Instant, Packet, SubflowStep, TcpFlags, TcpHeader,
};
use airlane_wire::mptcp::{DataPlace, data_place};
use airlane_wire::{Ip, IpPacket, Transport};

use crate::protocol::report::{SubflowState, TcpState};

/// The paths of a flow with a connection over several.
#[derive(Debug)]
pub(super) struct Paths {
    paths: Vec<KernelPath>,
    /// Of each path, its handshake.
    handshakes: Vec<Handshake>,
    /// Of the data down and up, where it is.
    data: [Data; 2],
    /// The states of subflows that were reported for this moment, with their paths.
    states: Vec<(usize, TcpState)>,
}

/// The handshake of the subflow of a path, and what its sender has told since.
#[derive(Clone, Copy, Debug, Default)]
struct Handshake {
    /// When its SYN left the UE.
    asked_at: Option<Instant>,
    /// Smoothed round-trip time: at first that of the handshake.
    srtt: Duration,
    /// Its retransmission timer has expired, and nothing was acknowledged since.
    failed: bool,
}

/// Where the data of a direction is.
#[derive(Debug, Default)]
struct Data {
    /// The data sequence number of the first byte, once it is known, and the number of bytes that were sent without one.
    base: Option<u64>,
    first: u64,
    /// By path.
    subflows: Vec<Subflow>,
    /// What any subflow was given.
    given: Order,
}

/// A direction of a subflow.
#[derive(Clone, Copy, Debug, Default)]
struct Subflow {
    /// The initial sequence number.
    initial: u32,
    /// The data sequence number, and the subflow sequence number, of the mapping that was seen last.
    mapping: Option<(u64, u32)>,
}

impl Paths {
    /// Those of a flow; none with one path.
    pub(super) fn of(flow: &KernelFlow) -> Option<Self> {
        let subflows = vec![Subflow::default(); flow.paths.len()];
        let data = || Data { subflows: subflows.clone(), ..Data::default() };
        (!flow.paths.is_empty()).then(|| Self {
            handshakes: vec![Handshake::default(); flow.paths.len()],
            data: [data(), data()],
            paths: flow.paths.clone(),
            states: Vec::new(),
        })
    }

    /// The path over which an end sends a packet: that of the address of the UE in it.
    pub(super) fn leaves_over(&self, end: FlowEnd, bytes: &[u8]) -> Option<usize> {
        let (Ip::V4(ip), _) = Ip::parse(bytes).ok()? else { return None };
        self.path_of(match end {
            FlowEnd::Server => ip.destination,
            FlowEnd::Host => ip.source,
        })
    }

    fn path_of(&self, host: Ipv4Addr) -> Option<usize> {
        self.paths.iter().position(|path| path.host == host)
    }

    /// The path of a packet of the network.
    pub(super) fn path(&self, packet: &Packet) -> Option<usize> {
        self.paths.iter().position(|path| path.port == packet.sockets.ue_port)
    }

    /// The port by which the network knows the packets of a path.
    pub(super) fn port(&self, path: usize) -> u16 {
        self.paths[path].port
    }

    /// A packet leaves over a path: it gets the place of its data. Returned is what the sender has given to the subflow, if
    /// these bytes were not sent on it before.
    pub(super) fn leaves(
        &mut self,
        now: Instant,
        path: usize,
        (packet, bytes): (&mut Packet, &[u8]),
        again: bool,
    ) -> Option<SubflowStep> {
        let Header::Tcp(header) = packet.header else { return None };
        let direction = usize::from(packet.direction == Direction::Uplink);
        if header.flags.has(TcpFlags::SYN) {
            self.data[direction].subflows[path] = Subflow { initial: header.sequence, mapping: None };
            if !header.flags.has(TcpFlags::ACK) {
                self.handshakes[path].asked_at = Some(now);
            }
            return None;
        }
        let length = u64::from(packet.payload.len());
        let place = self.data[direction].place(path, &header, (bytes, length))?;
        packet.set_data_position(place);
        if again {
            return None;
        }
        // Subflows have queues of their own, so that data leaves in another order than that in which it was given.
        let new = self.data[direction].given.receive(now, path, (place, length), &mut vec![]);
        let srtt = self.handshakes[path].srtt;
        Some(SubflowStep::Scheduled { bytes: Bytes(length), again: new < length, srtt })
    }

    /// A packet arrives at an end over its path.
    pub(super) fn arrives(&mut self, now: Instant, packet: &Packet) {
        let (Header::Tcp(header), Some(path)) = (packet.header, self.path(packet)) else { return };
        if header.flags.has(TcpFlags::SYN)
            && header.flags.has(TcpFlags::ACK)
            && let Some(asked_at) = self.handshakes[path].asked_at.take()
        {
            self.handshakes[path].srtt = now - asked_at;
        }
    }

    /// The sender tells the state of a subflow. Returned are the path and what has changed, and the state of all subflows
    /// together if this is the last of them.
    pub(super) fn told(
        &mut self,
        end: FlowEnd,
        state: &SubflowState,
    ) -> (Option<(usize, SubflowStep)>, Option<TcpState>) {
        let [is_first, is_last] = state.place;
        if is_first {
            self.states.clear();
        }
        let host = if end == FlowEnd::Server { state.remote } else { state.local };
        let Some(path) = self.path_of(host) else { return (None, None) };
        let shake = &mut self.handshakes[path];
        shake.srtt = state.tcp.srtt.unwrap_or(shake.srtt);
        let failed = state.tcp.backoff > 0;
        let step = (failed != shake.failed).then_some(if failed {
            SubflowStep::Failed
        } else {
            SubflowStep::Restored
        });
        shake.failed = failed;
        self.states.push((path, state.tcp));
        (step.map(|step| (path, step)), is_last.then(|| together(&self.states)).flatten())
    }

    /// The event of a step.
    pub(super) fn event(flow: &KernelFlow, path: usize, step: SubflowStep) -> Event<'static> {
        Event::Subflow { flow: flow.flow, subflow: path as u8, step }
    }
}

/// The state of all subflows together: sums of windows and rates, and the times of the first subflow that has them.
fn together(states: &[(usize, TcpState)]) -> Option<TcpState> {
    let (_, first) = states.first()?;
    let sum = |of: fn(&TcpState) -> u64| states.iter().map(|(_, state)| of(state)).sum();
    let pacing = states.iter().map(|(_, state)| state.pacing_rate.map(|rate| rate.0)).sum::<Option<u64>>();
    Some(TcpState {
        congestion_window: Bytes(sum(|state| state.congestion_window.get())),
        in_flight: Bytes(sum(|state| state.in_flight.get())),
        ssthresh: None,
        offered_window: None,
        pacing_rate: pacing.map(BitRate),
        delivery_rate: BitRate(sum(|state| state.delivery_rate.0)),
        ..*first
    })
}

impl Data {
    /// The place of the first byte of a segment in the data, from 0.
    fn place(&mut self, path: usize, header: &TcpHeader, (bytes, length): (&[u8], u64)) -> Option<u64> {
        if length == 0 {
            return None;
        }
        let subflow = &mut self.subflows[path];
        // The first byte behind the SYN has number 1, as in mappings (RFC 8684 §3.3.1).
        let number = header.sequence.wrapping_sub(subflow.initial);
        let behind_syn = u64::from(number.wrapping_sub(1));
        let option = match IpPacket::parse(bytes).ok()?.transport {
            Transport::Tcp(tcp) => data_place(&tcp),
            _ => None,
        };
        match option {
            Some(DataPlace::First) => {
                self.first = self.first.max(behind_syn + length);
                return Some(behind_syn);
            }
            // A mapping of length 0 is infinite: the connection continues as TCP (RFC 8684 §3.7).
            Some(DataPlace::Mapped(mapping)) if mapping.length > 0 => {
                subflow.mapping = Some((mapping.data_sequence, mapping.subflow_sequence));
            }
            Some(DataPlace::Mapped(_)) | None => {}
        }
        let Some((sequence, from)) = subflow.mapping else { return (path == 0).then_some(behind_syn) };
        let distance = i64::from(number.wrapping_sub(from) as i32);
        let own = sequence.wrapping_add_signed(distance);
        let base = *self.base.get_or_insert(own.wrapping_sub(self.first));
        Some(own.wrapping_sub(base))
    }
}

#[cfg(test)]
mod tests;
