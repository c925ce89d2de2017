//! When applications with a rate of their own send: from the format to `airlane_traffic`.

use airlane_core::Instant;
use airlane_traffic as traffic;
use airlane_traffic::{BurstParameters, Bursts, Datagrams, OnOffSender, PpbpSender, Reading};
use airlane_transport::UdpSender;

use crate::endpoints::Setup;
use crate::expand::OneFlow;
use crate::format::{App, OnOff, Period, Ppbp, PpbpReading};

/// The datagrams of a flow from its start to its stop; over TCP, its writes.
pub(crate) fn datagrams(
    setup: Setup<'_>,
    one: &OneFlow,
    app: &App,
    start: Instant,
    stop: Option<Instant>,
) -> Datagrams {
    let end = Instant::ZERO + setup.scenario.run.duration.0;
    match app {
        App::Cbr(cbr) => {
            let stop = stop.unwrap_or(Instant::FAR_FUTURE);
            Datagrams::Constant(UdpSender::new(cbr.rate.0, cbr.payload.0, start, stop))
        }
        App::Ppbp(ppbp) => {
            let draws = setup.seeds.stream(&format!("flow/{}/bursts", one.name));
            let bursts = Bursts::new(burst_parameters(ppbp), start, draws);
            let (rate, payload, spacing) = (ppbp.rate.0, ppbp.payload.0, ppbp.spacing.0);
            let sender = PpbpSender::new(bursts, rate, payload, spacing, stop.unwrap_or(end));
            Datagrams::Bursts(Box::new(sender))
        }
        App::OnOff(app) => on_off(setup, one, app, start, stop.unwrap_or(end)),
        App::Bulk | App::Fixed(_) | App::Web(_) | App::Video(_) | App::Dash(_) | App::Ping(_) => {
            unreachable!("checked when the scenario was resolved")
        }
    }
}

fn on_off(setup: Setup<'_>, one: &OneFlow, app: &OnOff, start: Instant, stop: Instant) -> Datagrams {
    let draws = |state| setup.seeds.stream(&format!("flow/{}/{state}", one.name));
    let periods = [&app.off, &app.on].map(period);
    let process = traffic::OnOff::new(periods, start, [draws("off"), draws("on")]);
    let sender = OnOffSender::new(process, app.rate.0, app.payload.0, app.payload.0, stop);
    let packets = app.size.map_or(u64::MAX, |size| size.0.get().div_ceil(app.payload.0.get()));
    Datagrams::OnOff(Box::new(sender.with_limit(packets)))
}

/// The distribution of a duration: from the format to `airlane_traffic`.
pub(crate) const fn period(period: &Period) -> traffic::Period {
    match period {
        Period::Constant(p) => traffic::Period::Constant(p.length.0),
        Period::Uniform(p) => traffic::Period::Uniform { min: p.min.0, max: p.max.0 },
        Period::Exponential(p) => traffic::Period::Exponential { mean: p.mean.0 },
        Period::Pareto(p) => traffic::Period::Pareto { mean: p.mean.0, shape: p.shape },
    }
}

/// The parameters of a burst process: from the format to `airlane_traffic`.
pub(crate) const fn burst_parameters(ppbp: &Ppbp) -> BurstParameters {
    BurstParameters {
        active: ppbp.active,
        length: ppbp.length.0,
        hurst: ppbp.hurst,
        reading: match ppbp.reading {
            PpbpReading::Module => Reading::Module,
            PpbpReading::Literal => Reading::Literal,
        },
    }
}
