//! The current state of a run, for a program that shows it. Looking changes no result.

use airlane_core::{Bytes, NodeId, Probe, UeId};
use airlane_net::queue::QueueDiscipline;
use airlane_net::rni::UeRecord;
use airlane_net::{Link, ManagedLink, TraceLink};
use airlane_ran::{CellQuality, RadioNetwork, ReportEvent, UeLook};

use crate::run::Built;

impl Built {
    /// The current state of a UE; `None` if there is no such UE, or if it was removed.
    #[must_use]
    pub fn look(&self, ue: UeId) -> Option<UeLook> {
        let radio = self.simulation.node::<RadioNetwork>(self.places.mobile?.radio)?;
        radio.look(ue, self.now())
    }

    /// The records of all UEs of a mobile network, as a radio network information service gets them. A UE that was
    /// removed has none.
    pub fn radio_information(&mut self) -> Vec<UeRecord> {
        let (now, ues) = (self.now(), self.construction.ues as u32);
        let radio =
            self.places.mobile.and_then(|mobile| self.simulation.node_mut::<RadioNetwork>(mobile.radio));
        let Some(radio) = radio else { return vec![] };
        (0..ues).filter_map(|ue| radio.information(now, UeId(ue))).collect()
    }

    /// The event that makes UEs send measurement reports; `None` if they do not measure.
    #[must_use]
    pub fn report_event(&self) -> Option<ReportEvent> {
        self.simulation.node::<RadioNetwork>(self.places.mobile?.radio)?.report_event()
    }

    /// [`RadioNetwork::cell_qualities`].
    #[must_use]
    pub fn cell_qualities(&self, ue: UeId, loads: &[f64]) -> Vec<CellQuality> {
        let mobile = self.places.mobile;
        let radio = mobile.and_then(|mobile| self.simulation.node::<RadioNetwork>(mobile.radio));
        radio.map_or_else(Vec::new, |radio| radio.cell_qualities(ue, loads))
    }

    /// Adds an observer to the run, in the place of one that was added before.
    pub fn observe(&mut self, observer: Box<dyn Probe + Send>) {
        self.sinks.own = Some(observer);
    }

    /// Bytes that wait for the internet link, on the downlink and on the uplink; `None` if each server has links of
    /// its own. A packet of which a part was sent does not count.
    #[must_use]
    pub fn internet_queues(&self) -> Option<[Bytes; 2]> {
        let (down, _) = self.places.internet_down?;
        Some([self.queue_of(down)?, self.queue_of(self.places.internet_link_up?)?])
    }

    fn queue_of(&self, link: NodeId) -> Option<Bytes> {
        let simulation = &self.simulation;
        if let Some(link) = simulation.node::<Link>(link) {
            return Some(link.queued_at(self.now()));
        }
        if let Some(link) = simulation.node::<ManagedLink>(link) {
            return Some(link.queue().backlog().bytes);
        }
        Some(simulation.node::<TraceLink>(link)?.queue().backlog().bytes)
    }
}
