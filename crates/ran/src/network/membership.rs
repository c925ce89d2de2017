//! UEs and flows that are added to a running network, and removed from it.
//!
//! The number of a UE or a flow is never used again: packets of a removed one may still be on their way. The
//! place of a removed UE stays, without packets and timers. No port of another UE or cell changes.

use airlane_core::{Cx, DropCause, FlowId, Instant, Port, Seeds, UeId};

use super::{MOST_PORTS, RadioNetwork};
use crate::build;
use crate::config::UeConfig;
use crate::sdap::Qfi;
use crate::ue::Membership;

impl RadioNetwork {
    /// Adds a UE, whose movement begins now. It is served by the cell of its configuration, or by the one with the
    /// best reception now. Its random streams have the names of those of a UE with this number that is there from
    /// the start.
    ///
    /// # Panics
    /// If it names a cell that does not exist, if there are more UEs than ports, or if a slot before `now` has
    /// not been processed.
    pub fn add_ue(&mut self, config: &UeConfig, now: Instant, seeds: Seeds) -> UeId {
        assert!(
            self.dual.is_none() && config.secondary_node.is_none(),
            "UEs with a secondary node are there from the start"
        );
        self.skip_idle_slots(now);
        let index = self.ues.len();
        assert!(self.cells.len() + index < MOST_PORTS, "too many cells and UEs for the ports");
        let scenes = self.environment.scenes(seeds);
        let ue = build::build_ue(index, config, &scenes, now);
        for cell in &mut self.cells {
            cell.downlink.add_ue();
            cell.restrictions.add_ue();
        }
        if let Some(at) = config.bearer_set_up {
            self.cells[ue.cell().index()].restrictions.announce(at, ue.id.0);
        }
        if let Some(monitor) = &mut self.monitor {
            monitor.add_ue();
        }
        if let Some(handover) = &mut self.handover {
            handover.add_ue(&ue, seeds);
        }
        if let Some(connections) = &mut self.connections {
            connections.add_ue(seeds);
        }
        let id = ue.id;
        self.ues.push(ue);
        self.begin_ue(now, index);
        id
    }

    /// Sets the alarms of a new UE.
    pub(super) fn begin_ue(&mut self, now: Instant, index: usize) {
        self.schedule_carriers(now, index);
        self.schedule_gaps(index);
        self.watch_capacity(now, index);
    }

    /// Removes a UE and its flows. Its packets are discarded: those in its bearer, on the air and on X2.
    ///
    /// # Panics
    /// If there is no such UE, or if a slot before `cx.now` has not been processed.
    pub fn remove_ue(&mut self, cx: &mut Cx<'_>, id: UeId) {
        self.skip_idle_slots(cx.now);
        let ue = &mut self.ues[id.index()];
        assert!(ue.is_present, "this UE has been removed");
        assert!(!matches!(ue.membership, Membership::Secondary(_)), "no UE of the configuration");
        ue.is_present = false;
        ue.bearers.discard(cx, DropCause::NoRoute);
        ue.bearers.clear_signalling();
        self.remove_split(cx, id);
        self.release_carriers(cx, id);
        self.reset_mac(id, cx.now);
        if let Some(connections) = &mut self.connections {
            connections.remove_ue(cx, id);
        }
        self.find_work();
        if let Some(monitor) = &mut self.monitor {
            monitor.change_cell(id);
        }
        if let Some(handover) = &mut self.handover {
            handover.remove_ue(cx, id);
        }
        self.paths.remove_ue(id);
        self.publisher.want(cx.now, id.0, false);
        self.capacity_reports.remove(id.0);
        for flow in self.flows.iter_mut().filter(|flow| **flow == Some(id)) {
            *flow = None;
        }
    }

    /// Adds a flow of a UE: downlink packets with the returned number lead to it.
    ///
    /// # Panics
    /// If there is no such UE.
    pub fn add_flow(&mut self, ue: UeId) -> FlowId {
        assert!(self.ues.get(ue.index()).is_some_and(|ue| ue.is_present), "a flow leads to no UE");
        self.flows.push(Some(ue));
        FlowId(self.flows.len() as u32 - 1)
    }

    /// Adds a flow whose subflows are of several UEs, each by its port at the UE.
    pub fn add_flow_over(&mut self, subflows: &[(u16, UeId)]) -> FlowId {
        let flow = FlowId(self.flows.len() as u32);
        self.flows.push(None);
        subflows.iter().for_each(|(port, ue)| self.paths.add(flow, *port, *ue));
        flow
    }

    /// Gives the packets of a flow to a QoS flow, whatever their ECN field, in both directions. Without a second bearer of
    /// its UE this has no effect.
    ///
    /// # Panics
    /// If there is no such flow.
    pub fn map_flow(&mut self, flow: FlowId, to: Qfi) {
        let ue = self.flows[flow.index()].expect("a flow that was not removed");
        self.ues[ue.index()].bearers.map_flow(flow, to);
    }

    /// Removes a flow: its downlink packets that arrive from now on are discarded.
    ///
    /// # Panics
    /// If there is no such flow.
    pub fn remove_flow(&mut self, flow: FlowId) {
        self.flows[flow.index()] = None;
        self.paths.remove_flow(flow);
    }

    /// The port that leads to the upper layers of this UE.
    #[must_use]
    pub fn ue_port(&self, ue: usize) -> Port {
        self.first_ue_port() + ue as Port
    }
}
