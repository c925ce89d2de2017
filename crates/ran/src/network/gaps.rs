//! When the network configures the measurement gaps of a UE whose primary cell is weak, and when it releases them
//! ([`crate::mac::gaps`]).

use airlane_core::{Dbm, Instant};

use super::RadioNetwork;
use crate::rrc::coverage;
use crate::ue::Ue;

impl RadioNetwork {
    /// A UE measures its primary cell, and RRC configures or releases its gaps, if it is time.
    #[inline(never)]
    pub(super) fn follow_gaps(&mut self, now: Instant, index: usize) {
        let Ue { gaps, links, mobility, .. } = &mut self.ues[index];
        let Some(gaps) = gaps else { return };
        let Some(events) = gaps.events_mut() else { return };
        if events.measures(now) {
            let link = links.primary_mut();
            let rsrp = match self.cells[link.cell.index()].restrictions.is_on {
                true => {
                    let period = (now, coverage::PERIOD);
                    link.downlink.channel.mean_rsrp(period, mobility, &mut events.before, &mut None)
                }
                false => Dbm(f64::NEG_INFINITY),
            };
            gaps.on_measured(now, rsrp);
        }
        gaps.reconfigure(now);
        self.schedule_gaps(index);
    }

    /// Sets the alarm of a UE for what is due for its gaps.
    pub(super) fn schedule_gaps(&mut self, index: usize) {
        let Ue { id, gaps, alarm, .. } = &mut self.ues[index];
        let Some(events) = gaps.as_mut().and_then(|gaps| gaps.events_mut()) else { return };
        if events.due() != Instant::FAR_FUTURE {
            self.alarms.set(events.due(), *id, alarm);
        }
    }
}
