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

    /// Whether this flow has any.
    pub(crate) fn has(&self, flow: FlowId) -> bool {
        self.all.iter().any(|one| one.flow == flow)
    }

    /// The index of the row of a series.
    pub(crate) const fn row(index: usize) -> u32 {
        BIT | index as u32
    }

    /// Adds the names of this data to those of the flows; for the index of a row its place in them, `None` if it is the
    /// index itself.
    pub(crate) fn add_names<'a>(&'a self, names: &mut Vec<&'a str>) -> Option<impl Fn(u32) -> u32 + use<>> {
        let flows = u32::try_from(names.len()).expect("flows are numbered in 32 bits");
        names.extend(self.all.iter().map(|one| one.name.as_str()));
        let place = move |row| if row & BIT == 0 { row } else { flows + (row & !BIT) };
        (!self.all.is_empty()).then_some(place)
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
