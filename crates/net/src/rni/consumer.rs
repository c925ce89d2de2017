//! The server's side: how it handles the notifications that reach it.

use airlane_core::{FlowId, Instant};

use super::{Rejected, Subscription, UeRecord};

/// Why a notification is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// The bytes of the notification are rejected.
    Rejected(Rejected),
    /// The notification is about another UE than the one in the subscription.
    OtherUe,
    /// The measurement time of the notification is in the future.
    FromTheFuture,
}

/// The server of a flow that subscribes to information about its UE.
#[derive(Clone, Copy, Debug)]
pub struct Consumer {
    flow: FlowId,
    ue: [u8; 4],
}

impl Consumer {
    /// The server of this flow to this UE.
    #[must_use]
    pub const fn new(flow: FlowId, ue: [u8; 4]) -> Self {
        Self { flow, ue }
    }

    /// The consumer's request to the service.
    #[must_use]
    pub const fn subscription(&self) -> Subscription {
        Subscription { flow: self.flow, ue: self.ue, until: None }
    }

    /// The request that ends the subscription.
    #[must_use]
    pub const fn end(&self, now: Instant) -> Subscription {
        Subscription { flow: self.flow, ue: self.ue, until: Some(now) }
    }

    /// Reads a notification that arrives at `now`.
    ///
    /// # Errors
    /// Why it is not used.
    pub fn accept(&self, bytes: &[u8], now: Instant) -> Result<UeRecord, Unused> {
        let record = UeRecord::decode(bytes).map_err(Unused::Rejected)?;
        if record.ue != self.ue {
            return Err(Unused::OtherUe);
        }
        if record.measured_at > now {
            return Err(Unused::FromTheFuture);
        }
        Ok(record)
    }
}
