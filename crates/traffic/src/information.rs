//! The subscription of a server to the radio network information of its UE.

use airlane_core::{Cx, Event, InformationFate, PacketRef, Payload, Port, Topic};
use airlane_net::rni::{self, Consumer, Subscription, Unused};
use airlane_transport::congestion::RadioInformation;

/// The port of a server that leads to a radio network information service.
pub const INFORMATION: Port = 1;

/// The subscription of a server, from its start to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listener {
    consumer: Consumer,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    NotYet,
    Listening,
    Over,
}

impl Listener {
    pub(crate) const fn new(consumer: Consumer) -> Self {
        Self { consumer, stage: Stage::NotYet }
    }

    /// Subscribes, if there is no subscription yet.
    pub(crate) fn begin(&mut self, cx: &mut Cx<'_>) {
        if self.stage == Stage::NotYet {
            self.stage = Stage::Listening;
            ask(cx, &self.consumer.subscription());
        }
    }

    /// Ends the subscription, if there is one.
    pub(crate) fn end(&mut self, cx: &mut Cx<'_>) {
        if self.stage == Stage::Listening {
            ask(cx, &self.consumer.end(cx.now));
        }
        self.stage = Stage::Over;
    }

    /// Decodes a notification; `None` if it is rejected.
    pub(crate) fn take(&self, cx: &mut Cx<'_>, packet: PacketRef) -> Option<RadioInformation> {
        let packet = cx.pool.consume(packet);
        let read = match &packet.payload {
            Payload::Bytes(bytes) => self.consumer.accept(bytes, cx.now),
            Payload::Length(_) => Err(Unused::Rejected(rni::Rejected::Malformed)),
        };
        if cx.wants(Topic::RadioInformation) {
            let fate = match &read {
                Ok(record) => InformationFate::Accepted { age: cx.now - record.measured_at },
                Err(Unused::Rejected(_)) => InformationFate::Rejected,
                Err(Unused::OtherUe | Unused::FromTheFuture) => InformationFate::Misdirected,
            };
            cx.emit(&Event::RadioInformation { flow: packet.flow, fate });
        }
        cx.pool.recycle(packet);
        let record = read.ok()?;
        Some(RadioInformation {
            measured_at: record.measured_at,
            transport_block: record.block,
            resource_blocks: record.prbs,
            cqi: record.cqi,
            queue: record.queue,
            cell_use: record.cell_use,
        })
    }
}

fn ask(cx: &mut Cx<'_>, subscription: &Subscription) {
    let packet = rni::packet(cx, subscription.flow, subscription.encode());
    cx.send(INFORMATION, packet);
}
