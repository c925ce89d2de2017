//! What a server makes of the notifications that reach it.

use airlane_core::{FlowId, Instant};

use super::{Rejected, Subscription, UeRecord};

/// Why a notification is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// Its bytes say nothing.
    Rejected(Rejected),
    /// It is about another UE than the one that was asked for.
    OtherUe,
    /// It was measured later than now.
    FromTheFuture,
}

/// The server of a flow that wants to hear of its UE.
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

    /// What it asks the service for.
    #[must_use]
    pub const fn subscription(&self) -> Subscription {
        Subscription { flow: self.flow, ue: self.ue, until: None }
    }

    /// What ends that.
    #[must_use]
    pub const fn end(&self, now: Instant) -> Subscription {
        Subscription { flow: self.flow, ue: self.ue, until: Some(now) }
    }

    /// Reads a notification that arrives at `now`.
    ///
    /// # Errors
    /// Why it is of no use.
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
