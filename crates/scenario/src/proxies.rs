//! The split proxies of a run in numbers.

use airlane_core::NodeId;
use airlane_engine::Simulation;
use airlane_middlebox::{Ending, Middlebox, SplitProxy, SplitStatistics};
use airlane_record::{Column, Table};

/// What a column counts.
type Count = fn(&SplitStatistics) -> u64;

/// Columns of the table `proxies` behind the name, but for the last.
const COUNTS: [(&str, Count); 17] = [
    ("connections", |s| s.connections),
    ("open", |s| s.open),
    ("open_peak", |s| s.open_peak),
    ("passed", |s| s.passed),
    ("refused", |s| s.refused),
    ("closed", |s| s.ended(Ending::Closed)),
    ("reset", |s| s.ended(Ending::Reset)),
    ("connect_refused", |s| s.ended(Ending::ConnectRefused)),
    ("connect_timeouts", |s| s.ended(Ending::ConnectTimeout)),
    ("stalled", |s| s.ended(Ending::Stalled)),
    ("idle", |s| s.ended(Ending::Idle)),
    ("downlink_bytes", |s| s.relayed[0]),
    ("uplink_bytes", |s| s.relayed[1]),
    ("downlink_buffer_peak_bytes", |s| s.held_peak[0]),
    ("uplink_buffer_peak_bytes", |s| s.held_peak[1]),
    ("downlink_connection_peak_bytes", |s| s.held_peak_one[0]),
    ("uplink_connection_peak_bytes", |s| s.held_peak_one[1]),
];

/// The table `proxies`: one row for each.
pub(crate) fn table(simulation: &Simulation, proxies: &[(String, NodeId)]) -> Table {
    let proxy = |id: NodeId| {
        let node = simulation.node::<Middlebox<SplitProxy>>(id);
        node.expect("wired as a split proxy").function()
    };
    let count = |of: &dyn Fn(&SplitProxy) -> u64| {
        let to_i64 = |value| i64::try_from(value).expect("a count stays below 2^63");
        Column::I64(proxies.iter().map(|(_, id)| to_i64(of(proxy(*id)))).collect())
    };
    let mut table = Table::default();
    table.push("proxy", Column::Text(proxies.iter().map(|(name, _)| name.clone()).collect()));
    for (name, of) in COUNTS {
        table.push(name, count(&|proxy| of(&proxy.statistics())));
    }
    table.push("memory_peak_bytes", count(&|proxy| proxy.memory().1));
    table
}
