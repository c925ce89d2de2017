//! The nodes of middleboxes.

use airlane_core::{BitRate, CellId, Duration, Node, Seeds};
use airlane_middlebox::{ConnectOrder, EnbProxies, Middlebox, Pep, SplitConfig, SplitProxy, WhenFull};
use airlane_scenario::endpoints::Setup;
use airlane_scenario::format::{self, MiddleboxPlace, Resolved};
use airlane_scenario::transports::tcp_config;

/// A node for the path.
pub(crate) struct InPath {
    pub(crate) node: Box<dyn Node>,
    /// True for a split proxy.
    pub(crate) splits: bool,
    /// The rate of its interface towards the UEs, if limited.
    pub(crate) rate: Option<BitRate>,
}

/// The middlebox before the gateway, if there is one.
pub(crate) fn at_gateway(setup: Setup<'_>) -> Option<InPath> {
    in_path(setup, MiddleboxPlace::Gateway, None)
}

/// The middlebox in the eNB of a cell, if there is one.
pub(crate) fn at_enb(setup: Setup<'_>, cell: usize) -> Option<InPath> {
    in_path(setup, MiddleboxPlace::Enb, Some(CellId(cell as u32)))
}

fn in_path(setup: Setup<'_>, place: MiddleboxPlace, cell: Option<CellId>) -> Option<InPath> {
    let Setup { scenario, seeds, .. } = setup;
    scenario.middlebox.iter().find_map(|one| match one {
        format::Middlebox::Pep(pep) if pep.at == place => {
            let node = Box::new(Middlebox::new(Pep::new(pep.config(cell, seeds))));
            Some(InPath { node, splits: false, rate: None })
        }
        format::Middlebox::SplitProxy(proxy) if proxy.at == place && place == MiddleboxPlace::Gateway => {
            let node = Box::new(Middlebox::new(SplitProxy::new(split_config(proxy, setup, cell))));
            let rate = proxy.interface_rate.map(|rate| rate.0);
            Some(InPath { node, splits: true, rate })
        }
        format::Middlebox::Pep(_) | format::Middlebox::SplitProxy(_) => None,
    })
}

/// The settings of the split proxies in the eNBs, if there are any.
fn in_enbs(scenario: &Resolved) -> Option<&format::SplitProxy> {
    scenario.middlebox.iter().find_map(|one| match one {
        format::Middlebox::SplitProxy(proxy) if proxy.at == MiddleboxPlace::Enb => Some(&**proxy),
        format::Middlebox::SplitProxy(_) | format::Middlebox::Pep(_) => None,
    })
}

/// The rate of their interfaces towards the UEs, if limited.
pub(crate) fn enb_interface_rate(scenario: &Resolved) -> Option<BitRate> {
    in_enbs(scenario)?.interface_rate.map(|rate| rate.0)
}

/// The split proxies in the eNBs, if there are any, without UEs and flows.
pub(crate) fn enb_proxies(setup: Setup<'_>) -> Option<EnbProxies> {
    let scenario = setup.scenario;
    let proxy = in_enbs(scenario)?;
    let cells = (0..scenario.cell.len() as u32).map(|cell| split_config(proxy, setup, Some(CellId(cell))));
    let x2_delay = scenario.x2.as_ref().map_or(Duration::ZERO, |x2| x2.delay.0);
    Some(EnbProxies::new(cells.collect(), x2_delay))
}

fn split_config(proxy: &format::SplitProxy, setup: Setup<'_>, cell: Option<CellId>) -> SplitConfig {
    let seeds = setup.seeds;
    let id = cell.map_or(0, |cell| 1 + cell.0);
    // The ends of a flow draw from streams with the flow's name, so those of the proxy have separate
    // seeds.
    let own = |leg| {
        let seeds = Seeds::new(seeds.stream(&format!("middlebox/{id}/{leg}")).bits());
        Setup { seeds, ..setup }
    };
    SplitConfig {
        id,
        core: tcp_config(&proxy.core, own("core")),
        ran: tcp_config(&proxy.ran, own("ran")),
        shared_window_max: match &proxy.initial_window {
            format::ProxyInitialWindow::Fixed => None,
            format::ProxyInitialWindow::Shared(shared) => Some(shared.max),
        },
        connect: match proxy.connect {
            format::ConnectOrder::AtOnce => ConnectOrder::AtOnce,
            format::ConnectOrder::AfterHandshake => ConnectOrder::AfterHandshake,
            format::ConnectOrder::FarEndFirst => ConnectOrder::FarEndFirst,
        },
        buffer: proxy.buffer.0,
        memory: proxy.memory.0,
        connections: proxy.connections as usize,
        when_full: match proxy.when_full {
            format::WhenFull::PassThrough => WhenFull::PassThrough,
            format::WhenFull::Refuse => WhenFull::Refuse,
        },
        connect_timeout: proxy.connect_timeout.0,
        stall_timeout: proxy.stall_timeout.0,
        idle_timeout: proxy.idle_timeout.0,
        time_wait: proxy.time_wait.0,
        cell,
        seeds,
    }
}
