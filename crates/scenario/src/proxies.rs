//! The split proxies of a run in numbers.

use airlane_engine::Simulation;
use airlane_middlebox::{EnbProxies, Ending, Middlebox, SplitProxy, SplitStatistics};
use airlane_record::{Column, Table};

use crate::wiring::Proxies;

/// What a column counts.
type Count = fn(&SplitStatistics) -> u64;

/// Columns of the table `proxies` behind the name, but for the last.
const COUNTS: [(&str, Count); 22] = [
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
    ("moved_in", |s| s.moved_in),
    ("moved_out", |s| s.moved_out),
    ("turned_away", |s| s.turned_away),
    ("x2_context_bytes", |s| s.x2_context_bytes),
    ("x2_packet_bytes", |s| s.x2_packet_bytes),
    ("downlink_bytes", |s| s.relayed[0]),
    ("uplink_bytes", |s| s.relayed[1]),
    ("downlink_buffer_peak_bytes", |s| s.held_peak[0]),
    ("uplink_buffer_peak_bytes", |s| s.held_peak[1]),
    ("downlink_connection_peak_bytes", |s| s.held_peak_one[0]),
    ("uplink_connection_peak_bytes", |s| s.held_peak_one[1]),
];

/// The table `proxies`: one row for each, if there are any. `names` are those of the gateway and of the cells.
pub(crate) fn table(simulation: &Simulation, proxies: &Proxies, names: &[String]) -> Option<Table> {
    let enbs = proxies.enbs.map(|id| {
        let node = simulation.node::<EnbProxies>(id);
        node.expect("wired as the proxies of eNBs")
    });
    let gateway = proxies.gateway.map(|id| {
        let node = simulation.node::<Middlebox<SplitProxy>>(id);
        (&names[0], node.expect("wired as a split proxy").function())
    });
    let cells = names[1..].iter().enumerate();
    let cells = cells.filter_map(|(cell, name)| enbs.map(|enbs| (name, enbs.cell(cell))));
    let rows: Vec<(&String, &SplitProxy)> = gateway.into_iter().chain(cells).collect();
    if rows.is_empty() {
        return None;
    }
    let count = |of: &dyn Fn(&SplitProxy) -> u64| {
        let to_i64 = |value| i64::try_from(value).expect("a count stays below 2^63");
        Column::I64(rows.iter().map(|(_, proxy)| to_i64(of(proxy))).collect())
    };
    let mut table = Table::default();
    table.push("proxy", Column::Text(rows.iter().map(|(name, _)| (*name).clone()).collect()));
    for (name, of) in COUNTS {
        table.push(name, count(&|proxy| of(&proxy.statistics())));
    }
    table.push("memory_peak_bytes", count(&|proxy| proxy.memory().1));
    Some(table)
}
