//! The data of flows that carry data in both directions, in the direction that is not the flow's own.

use airlane_core::{Direction, FlowId};

use crate::flow::FlowRecord;
use crate::table::direction_name;
use crate::{FlowDescription, RecorderParameters};

/// In rows of a series, distinguishes this data from that of flows, which are at most 10,000.
const BIT: u32 = 1 << 31;

/// This data of all flows that have any.
#[derive(Debug, Default)]
pub(crate) struct Returns {
    pub(crate) all: Vec<Return>,
    /// The next flow to be added.
    next: usize,
}

/// This data of a flow.
#[derive(Debug)]
pub(crate) struct Return {
    pub(crate) flow: FlowId,
    pub(crate) name: String,
    pub(crate) record: FlowRecord,
}

impl Returns {
    /// Adds the flows that are new in the parameters.
    pub(crate) fn extend(&mut self, parameters: &RecorderParameters) {
        for (index, flow) in parameters.flows.iter().enumerate().skip(self.next) {
            if flow.both_directions {
                self.all.push(Return::new(FlowId(index as u32), flow, parameters));
            }
        }
        self.next = parameters.flows.len();
    }

    /// The data of this flow.
    pub(crate) fn of(&mut self, flow: FlowId) -> Option<&mut FlowRecord> {
        self.all.iter_mut().find(|one| one.flow == flow).map(|one| &mut one.record)
    }

    /// The index of the row of a series.
    pub(crate) const fn row(index: usize) -> u32 {
        BIT | index as u32
    }

    /// The name of a row; `None` if it is the row of a flow.
    pub(crate) fn name(&self, row: u32) -> Option<&str> {
        (row & BIT != 0).then(|| self.all[(row & !BIT) as usize].name.as_str())
    }
}

impl Return {
    fn new(id: FlowId, flow: &FlowDescription, parameters: &RecorderParameters) -> Self {
        let direction = match flow.direction {
            Direction::Downlink => Direction::Uplink,
            Direction::Uplink => Direction::Downlink,
        };
        let name = format!("{} ({})", flow.name, direction_name(direction));
        Self { flow: id, name, record: FlowRecord::in_direction(direction, flow, parameters) }
    }
}
