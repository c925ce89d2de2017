//! Packets and reports of a guest while a script is played.

use std::collections::VecDeque;

use crate::GuestError;
use crate::linux::guest::Outside;
use crate::protocol::call::{CallReport, Outcome};
use crate::protocol::report::{Report, What};

/// The interface of the host; the interface before it carries reports.
pub(super) const NIC: u16 = 1;

/// The packets and reports that were not handled yet.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Packets and their times.
    pub(super) packets: VecDeque<(u64, Vec<u8>)>,
    /// The result of a call, and of a call that was made while another one waited.
    pub(super) returned: Option<Outcome>,
    pub(super) returned_meanwhile: Option<Outcome>,
    /// The address of the agent's area.
    pub(super) area: Option<u64>,
    /// The release of the kernel, when the host is set up.
    pub(super) release: Option<String>,
    /// The time before which the guest needs no input.
    pub(super) limit: u64,
}

impl Outside for Outbox {
    fn sent(&mut self, at: u64, nic: u16, packet: &[u8]) -> Result<(), GuestError> {
        if nic == NIC {
            self.packets.push_back((at, packet.to_vec()));
            self.limit = self.limit.min(at);
        }
        Ok(())
    }

    fn reported(&mut self, at: u64, report: &[u8]) -> Result<(), GuestError> {
        match (CallReport::decode(report), Report::decode(report)) {
            (Some(CallReport::Area(address)), _) => self.area = Some(address),
            (Some(CallReport::Returned(outcome)), _) => self.returned = Some(outcome),
            (Some(CallReport::ReturnedMeanwhile(outcome)), _) => self.returned_meanwhile = Some(outcome),
            (None, Some(Report { what: What::Ready(release), .. })) => self.release = Some(release),
            (None, Some(Report { what: What::Failed(text), .. })) => {
                let what = format!("the guest's agent could not set up the host of a script: {text}");
                return Err(GuestError::missing(
                    what,
                    "airlane kernel build compiles an agent of another version again",
                ));
            }
            (None, _) => {}
        }
        self.limit = self.limit.min(at);
        Ok(())
    }

    fn limit(&mut self) -> u64 {
        self.limit
    }
}
