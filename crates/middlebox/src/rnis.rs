//! A radio network information service: servers subscribe to a UE, eNBs send information about its
//! radio channel, and each subscriber gets a copy (`docs/radio-information.md`).
//!
//! Not included: authorization, and subscriptions that the service ends by itself.

mod fault;

use std::collections::{BTreeMap, VecDeque};

use airlane_core::{
    Cx, DropCause, Event, FlowId, InformationFate, Instant, Node, PacketRef, Payload, Port, Topic,
};
use airlane_net::rni::{self, Subscription, UeRecord};

use fault::Faulty;
pub use fault::RnisFault;

/// Maximum number of subscriptions.
const SUBSCRIPTIONS_MAX: usize = 10_000;

/// A subscription and its number.
#[derive(Clone, Copy, Debug)]
struct Subscriber {
    flow: FlowId,
    number: u32,
    until: Option<Instant>,
}

/// The service, as a node.
#[derive(Debug)]
pub struct Rnis {
    /// By the address of the UE.
    subscribers: BTreeMap<[u8; 4], Vec<Subscriber>>,
    subscribed: usize,
    next_number: u32,
    fault: Option<Faulty>,
    /// Delayed notifications with their times, oldest first.
    late: VecDeque<(Instant, PacketRef)>,
}

impl Rnis {
    /// The port to the eNBs: records arrive, and requests for reports leave.
    pub const RAN: Port = 0;
    /// The port to the servers: subscriptions arrive, and notifications leave.
    pub const SERVERS: Port = 1;

    /// A service without subscribers, with an optional fault.
    #[must_use]
    pub fn new(fault: Option<(RnisFault, airlane_core::Stream)>) -> Self {
        Self {
            subscribers: BTreeMap::new(),
            subscribed: 0,
            next_number: 1,
            fault: fault.map(|(fault, chance)| Faulty::new(fault, chance)),
            late: VecDeque::new(),
        }
    }

    /// A server subscribes, changes the end of its subscription, or unsubscribes. The eNBs are informed
    /// when a UE gets its first subscriber and loses its last.
    fn on_subscription(&mut self, cx: &mut Cx<'_>, asked: Subscription) {
        let of_ue = self.subscribers.entry(asked.ue).or_default();
        let ends = asked.until.is_some_and(|until| until <= cx.now);
        let known = of_ue.iter().position(|subscriber| subscriber.flow == asked.flow);
        match known {
            Some(index) if ends => {
                of_ue.remove(index);
                self.subscribed -= 1;
            }
            Some(index) => of_ue[index].until = asked.until,
            None if ends || self.subscribed == SUBSCRIPTIONS_MAX => {}
            None => {
                of_ue.push(Subscriber { flow: asked.flow, number: self.next_number, until: asked.until });
                self.next_number += 1;
                self.subscribed += 1;
            }
        }
        let wanted = !of_ue.is_empty();
        if !wanted {
            self.subscribers.remove(&asked.ue);
        }
        self.tell_enbs(cx, &asked, wanted);
    }

    fn tell_enbs(&self, cx: &mut Cx<'_>, asked: &Subscription, wanted: bool) {
        let until = (!wanted).then_some(cx.now);
        let bytes = Subscription { until, ..*asked }.encode();
        let packet = rni::packet(cx, asked.flow, bytes);
        cx.send(Self::RAN, packet);
    }

    /// An eNB sends a record of a UE.
    fn on_record(&mut self, cx: &mut Cx<'_>, record: &UeRecord) {
        let Some(of_ue) = self.subscribers.get_mut(&record.ue) else { return };
        let before = of_ue.len();
        of_ue.retain(|subscriber| subscriber.until.is_none_or(|until| until > cx.now));
        self.subscribed -= before - of_ue.len();
        for Subscriber { flow, number, .. } in of_ue.clone() {
            self.notify(cx, flow, record, number);
        }
        if self.subscribers.get(&record.ue).is_some_and(Vec::is_empty) {
            self.subscribers.remove(&record.ue);
            let asked = Subscription { flow: FlowId(0), ue: record.ue, until: None };
            self.tell_enbs(cx, &asked, false);
        }
    }

    fn notify(&mut self, cx: &mut Cx<'_>, flow: FlowId, record: &UeRecord, number: u32) {
        let Some(fault) = &mut self.fault else {
            return leave(cx, &mut self.late, flow, record.encode(number), cx.now);
        };
        if fault.is_silent(cx.now) {
            return;
        }
        let bytes = fault.say(cx.now, record, number);
        let at = fault.leaves_at(cx.now);
        for bytes in fault.order(flow, bytes) {
            leave(cx, &mut self.late, flow, bytes, at);
        }
    }
}

/// Sends a notification at `at`.
fn leave(
    cx: &mut Cx<'_>,
    late: &mut VecDeque<(Instant, PacketRef)>,
    flow: FlowId,
    bytes: Vec<u8>,
    at: Instant,
) {
    if cx.wants(Topic::RadioInformation) {
        cx.emit(&Event::RadioInformation { flow, fate: InformationFate::Sent });
    }
    let packet = rni::packet(cx, flow, bytes);
    if at <= cx.now {
        cx.send(Rnis::SERVERS, packet);
    } else {
        let place = late.partition_point(|(other, _)| *other <= at);
        late.insert(place, (at, packet));
    }
}

impl Node for Rnis {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef) {
        let Payload::Bytes(bytes) = &cx.pool.get(&packet).payload else {
            return cx.discard(packet, DropCause::Endpoint);
        };
        if port == Self::RAN {
            let Ok(record) = UeRecord::decode(bytes) else { return cx.discard(packet, DropCause::Endpoint) };
            let consumed = cx.pool.consume(packet);
            cx.pool.recycle(consumed);
            self.on_record(cx, &record);
        } else {
            let Ok(asked) = Subscription::decode(bytes) else {
                return cx.discard(packet, DropCause::Endpoint);
            };
            let consumed = cx.pool.consume(packet);
            cx.pool.recycle(consumed);
            self.on_subscription(cx, asked);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        while self.late.front().is_some_and(|(at, _)| *at <= cx.now)
            && let Some((_, packet)) = self.late.pop_front()
        {
            cx.send(Self::SERVERS, packet);
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.late.front().map(|(at, _)| *at)
    }

    fn packets_held(&self) -> usize {
        self.late.len()
    }
}

#[cfg(test)]
mod tests;
