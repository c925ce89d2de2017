//! The counters of a run's split proxies.

use airlane_core::{Duration, Instant};
use airlane_engine::Simulation;
use airlane_middlebox::{EnbProxies, Ending, LegStatistics, Middlebox, SplitProxy, SplitStatistics};
use airlane_record::{Column, Table};

use crate::wiring::Proxies;

/// The counter of a column.
type Count = fn(&SplitStatistics) -> u64;

/// Columns of the table `proxies` after the name, except the last two.
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

/// The counter of a column of `proxy_legs`.
type LegCount = fn(&LegStatistics) -> u64;

/// Columns of the table `proxy_legs` after the controller that are counters.
const LEG_COUNTS: [(&str, LegCount); 15] = [
    ("opening", |leg| leg.opening),
    ("established", |leg| leg.established),
    ("half_closed", |leg| leg.half_closed),
    ("closed", |leg| leg.closed),
    ("waiting_bytes", |leg| leg.waiting),
    ("windows_closed", |leg| leg.windows_closed),
    ("windows_closed_now", |leg| leg.windows_closed_now),
    ("window_probes", |leg| leg.window_probes),
    ("resets_received", |leg| leg.resets_received),
    ("resets_sent", |leg| leg.resets_sent),
    ("segments_sent", |leg| leg.segments_sent),
    ("retransmissions", |leg| leg.retransmissions),
    ("timeouts", |leg| leg.timeouts),
    ("handshake_retransmissions", |leg| leg.handshake_retransmissions),
    ("handshakes", |leg| leg.handshakes),
];

/// The measure of a column of `proxy_legs`.
type LegMeasure = fn(&LegStatistics) -> f64;

/// Columns after those.
const LEG_MEASURES: [(&str, LegMeasure); 4] = [
    ("handshake_ms", |leg| mean_ms(leg.handshake_sum, leg.handshakes)),
    ("rtt_ms", |leg| mean_ms(leg.rtt_sum, leg.rtt_samples)),
    ("rtt_min_ms", |leg| leg.rtt_min.map_or(f64::NAN, |least| least.as_secs_f64() * 1e3)),
    ("window_closed_s", |leg| leg.window_closed.as_secs_f64()),
];

fn mean_ms(sum: Duration, count: u64) -> f64 {
    if count == 0 { f64::NAN } else { sum.as_secs_f64() * 1e3 / count as f64 }
}

fn to_i64(value: u64) -> i64 {
    i64::try_from(value).expect("a count stays below 2^63")
}

/// The proxies of a run with their names: the one before the gateway, and those of the cells. `names` are in
/// this order.
fn all<'a>(
    simulation: &'a Simulation,
    proxies: &Proxies,
    names: &'a [String],
) -> Vec<(&'a String, &'a SplitProxy)> {
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
    gateway.into_iter().chain(cells).collect()
}

/// The tables `proxies`, one row for each, and `proxy_legs`, two rows for each, if there are any.
pub(crate) fn tables(
    simulation: &Simulation,
    proxies: &Proxies,
    names: &[String],
) -> Vec<(&'static str, Table)> {
    let rows = all(simulation, proxies, names);
    if rows.is_empty() {
        return vec![];
    }
    vec![("proxies", of_proxies(&rows)), ("proxy_legs", of_legs(&rows, simulation.now()))]
}

fn of_proxies(rows: &[(&String, &SplitProxy)]) -> Table {
    let count = |of: &dyn Fn(&SplitProxy) -> u64| {
        Column::I64(rows.iter().map(|(_, proxy)| to_i64(of(proxy))).collect())
    };
    let mut table = Table::default();
    table.push("proxy", Column::Text(rows.iter().map(|(name, _)| (*name).clone()).collect()));
    for (name, of) in COUNTS {
        table.push(name, count(&|proxy| of(&proxy.statistics())));
    }
    table.push("memory_peak_bytes", count(&|proxy| proxy.memory().1));
    table.push("forgotten", count(&|proxy| proxy.statistics().forgotten));
    table
}

fn of_legs(rows: &[(&String, &SplitProxy)], now: Instant) -> Table {
    let (mut proxies, mut sides, mut controllers, mut legs) = (vec![], vec![], vec![], vec![]);
    for (name, proxy) in rows {
        let [core, ran] = [&proxy.config().core, &proxy.config().ran];
        for ((side, config), leg) in [("core", core), ("ran", ran)].into_iter().zip(proxy.legs(now)) {
            proxies.push((*name).clone());
            sides.push(side.to_owned());
            controllers.push(config.congestion.name().to_owned());
            legs.push(leg);
        }
    }
    let mut table = Table::default();
    table.push("proxy", Column::Text(proxies));
    table.push("leg", Column::Text(sides));
    table.push("congestion", Column::Text(controllers));
    for (name, of) in LEG_COUNTS {
        table.push(name, Column::I64(legs.iter().map(|leg| to_i64(of(leg))).collect()));
    }
    for (name, of) in LEG_MEASURES {
        table.push(name, Column::F64(legs.iter().map(of).collect()));
    }
    table
}
