//! Who must receive something in a random scenario: where the budget of the channel and the rules of
//! whoever is on the way leave no excuse.

use airlane_core::{BitRate, Decibel, Duration};
use airlane_radio::path_loss::{City, Scene, Surroundings};
use airlane_radio::{PathLoss, Position, RadioPath, noise};
use airlane_record::{Column, Table};
use airlane_scenario::quantity::Size;
use airlane_scenario::{Resolved, format};

/// What a budget must be above noise for the most robust MCS to pass, with room to spare.
const BUDGET: Decibel = Decibel(3.0);
/// What it must have in addition where it fades: one time in ten it is less (Rayleigh).
const FADES: Decibel = Decibel(10.0);
/// Fades pass within a few milliseconds at this speed.
const FAST_KMH: f64 = 30.0;
/// A flow that had so long has received something.
const LONG_ENOUGH: Duration = Duration::from_millis(600);
/// The SYN of one flow of several may come while the others fill the queue of the link, and is sent again
/// after this (RFC 6298 §2.1).
const SYN_AGAIN: Duration = Duration::from_millis(1000);
/// Longer than this, a queue of others' packets is an excuse.
const QUEUE_MAX: Duration = Duration::from_millis(100);
/// A packet that waits for so long in a cell that serves everyone is one of many.
const DISCARD_MIN: Duration = Duration::from_millis(100);
/// Less than this for each flow of a link is an excuse.
const SHARE_MIN: u64 = 500_000;

/// Whether the means of the channel carry data both ways wherever the UE may be: so much over noise
/// and over neighbours that never pause.
pub(crate) fn within_reach(scenario: &Resolved, ue: &format::Ue) -> bool {
    budget(scenario, ue) > BUDGET.linear()
}

/// The signal over noise and over neighbours that never pause, wherever the UE may be, in the direction
/// that has less.
fn budget(scenario: &Resolved, ue: &format::Ue) -> f64 {
    let Some(channel) = &scenario.channel else { return f64::INFINITY };
    // Drawn or moving UEs stay within 250 m of the first cell.
    let metres = |index: usize, cell: &format::Cell| match (&ue.position, &ue.mobility) {
        (Some([x, y]), format::Mobility::Static) => {
            let (dx, dy) = (x.0 - cell.position[0].0, y.0 - cell.position[1].0);
            (dx * dx + dy * dy).sqrt()
        }
        _ => {
            let [first, this] =
                [&scenario.cell[0], cell].map(|cell| (cell.position[0].0, cell.position[1].0));
            let (dx, dy) = (this.0 - first.0, this.1 - first.1);
            let apart = (dx * dx + dy * dy).sqrt();
            if index == 0 { 250.0 } else { (apart - 250.0).abs() }
        }
    };
    let loss = |index: usize, cell: &format::Cell, hz: f64| {
        let at = |x, z| Position { x, y: 0.0, z };
        let path = RadioPath::between(&at(0.0, cell.height.0), &at(metres(index, cell), ue.height.0), false);
        law(&channel.path_loss, hz).loss(&path)
    };
    let prbs = |cell: &format::Cell| usize::from(cell.resource_blocks);
    let heard = |(index, cell): (usize, &format::Cell)| {
        let sent = noise::prb_power(cell.tx_power.0, prbs(cell));
        f64::from(noise::prb_snr(
            sent,
            loss(index, cell, cell.frequency.0),
            noise::prb_noise(ue.noise_figure.0),
        ))
    };
    let heard: Vec<f64> = scenario.cell.iter().enumerate().map(heard).collect();
    let best = (0..heard.len()).max_by(|a, b| heard[*a].total_cmp(&heard[*b])).unwrap_or(0);
    let cell = &scenario.cell[best];
    let downlink = heard[best] / (1.0 + heard.iter().sum::<f64>() - heard[best]);
    let sent = noise::prb_power(ue.tx_power.0, prbs(cell));
    let up = loss(best, cell, cell.uplink_frequency.0);
    let uplink = f64::from(noise::prb_snr(sent, up, noise::prb_noise(cell.noise_figure.0)));
    downlink.min(uplink)
}

fn law(law: &format::PathLoss, frequency_hz: f64) -> PathLoss {
    match law {
        format::PathLoss::Friis => PathLoss::Friis { frequency_hz },
        format::PathLoss::LogDistance(law) => PathLoss::LogDistance {
            exponent: law.exponent,
            reference_m: law.reference_distance.0,
            reference_loss: law.reference_loss.0,
        },
        format::PathLoss::Cost231Hata(law) => {
            let city = match law.city {
                format::City::Suburban => City::Suburban,
                format::City::Metropolitan => City::Metropolitan,
            };
            PathLoss::Cost231Hata { frequency_hz, city }
        }
        format::PathLoss::Tr25814 => PathLoss::Macro25814,
        format::PathLoss::Tr36814(law) => {
            let scene = match law.scene {
                format::Scene::Uma => Scene::UrbanMacro,
                format::Scene::Umi => Scene::UrbanMicro,
                format::Scene::Rma => Scene::RuralMacro,
            };
            let (street_width_m, building_height_m) = (law.street_width.0, law.building_height.0);
            let surroundings = Surroundings { scene, street_width_m, building_height_m };
            PathLoss::Macro36814 { frequency_hz, surroundings }
        }
    }
}

/// The sections of the flows that have no excuse: downlink, with more to send than passes, to UEs that
/// stand still within reach of the only cell.
///
/// What excuses is left out by rule. Maximum throughput serves the best UE as long as it has data, so
/// others starve, and so does throughput to average where a flat band makes all equal and the first wins; a deep fade, burst, shadow or the back of a sector antenna is not in the budget; a short
/// discard timer may expire on a slow cell; and what is lost at the beginning and repaired neither by HARQ
/// nor by RLC, TCP sends again after a second, which is all that a run has.
pub(crate) fn without_excuse(scenario: &Resolved) -> Vec<usize> {
    let ([cell], Some(channel), Some(backhaul)) = (&scenario.cell[..], &scenario.channel, &scenario.backhaul)
    else {
        return Vec::new();
    };
    let fades = match &channel.fading {
        format::Fading::None => Some(false),
        format::Fading::Flat(m)
        | format::Fading::Epa(m)
        | format::Fading::Eva(m)
        | format::Fading::Etu(m) => (m.speed.0 >= FAST_KMH).then_some(true),
    };
    let fair = !matches!(
        cell.scheduler,
        format::Scheduler::MaximumThroughput(_) | format::Scheduler::ThroughputToAverage
    );
    let open = matches!(channel.shadowing, format::Shadowing::None)
        && matches!(channel.bursts, format::Bursts::None)
        && matches!(cell.antenna, format::Antenna::Omni(_))
        && (matches!(cell.rlc, format::Rlc::Am(_)) || cell.harq && !cell.control_errors)
        // What no block can hold stands in the way of all that comes after it.
        && !matches!(cell.rlc, format::Rlc::Tm(_))
        && cell.early_throttling.is_none()
        && cell.pdcp.discard_timer.is_none_or(|timer| timer.0 >= DISCARD_MIN);
    let (Some(fades), true) = (fades, fair && open && links_are_wide(scenario, backhaul)) else {
        return Vec::new();
    };
    let least = BUDGET.linear() * if fades { FADES.linear() } else { 1.0 };
    let alone = scenario.flow.len() == 1 && scenario.ue.iter().map(|ue| ue.count).sum::<u32>() == 1;
    let long_enough = if alone { LONG_ENOUGH } else { SYN_AGAIN + LONG_ENOUGH };
    let excused = |flow: &format::Flow| {
        let ue = scenario.ue.iter().find(|ue| Some(&ue.name) == flow.to.as_ref());
        let end = flow.stop.map_or(scenario.run.duration.0, |stop| stop.0.min(scenario.run.duration.0));
        let saturates = matches!(flow.app, format::App::Bulk | format::App::Cbr(_));
        flow.direction != format::FlowDirection::Downlink
            || !saturates
            || end.saturating_sub(flow.start.0) < long_enough
            || ue.is_none_or(|ue| {
                !matches!(ue.mobility, format::Mobility::Static) || budget(scenario, ue) < least
            })
    };
    (0..scenario.flow.len()).filter(|section| !excused(&scenario.flow[*section])).collect()
}

/// Whether the links before the cell leave every flow something, soon.
fn links_are_wide(scenario: &Resolved, backhaul: &format::Backhaul) -> bool {
    let internet = &scenario.internet;
    if scenario.flow.iter().any(|flow| matches!(flow.app, format::App::Ppbp(_))) {
        return false; // bursts may add up to anything
    }
    if internet.trace.is_some() || !internet.hold.is_empty() || internet.loss.0 > 0.0 {
        return false;
    }
    let ues: u64 = scenario.ue.iter().map(|ue| u64::from(ue.count)).sum();
    let steps = internet.rate_steps.iter().map(|step| step.rate.0);
    let wide = |rate: BitRate| rate.bits_per_second() >= SHARE_MIN * ues;
    let short = |rate: BitRate, queue: Size| {
        u128::from(8 * queue.0.get()) * 1_000_000_000 / u128::from(rate.bits_per_second())
            <= u128::from(QUEUE_MAX.as_nanos())
    };
    let offered: u64 = scenario
        .flow
        .iter()
        .filter_map(|flow| match &flow.app {
            format::App::Cbr(cbr) => Some(cbr.rate.0.bits_per_second() * ues),
            _ => None,
        })
        .sum();
    let rates = steps.chain([internet.rate.0, backhaul.rate.0]);
    rates.clone().all(wide)
        && short(internet.rate.0, internet.queue)
        // Nothing waits at a link that is wider than the one before.
        && rates.clone().all(|rate| rate <= backhaul.rate.0)
        && rates.clone().all(|rate| 2 * offered <= rate.bits_per_second())
}

/// Which of these flows received nothing, by their rows in the table `flows`.
pub(crate) fn received_nothing(sections: &[usize], flows: &Table) -> Vec<String> {
    let (Some(Column::Text(names)), Some(Column::I64(delivered))) =
        (flows.column("flow"), flows.column("packets_delivered"))
    else {
        panic!("the table of flows has other columns");
    };
    let of = |name: &str| {
        sections.iter().any(|section| {
            let rest = name.strip_prefix(&format!("flow-{}", section + 1));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    };
    let rows = names.iter().zip(delivered);
    rows.filter(|(name, delivered)| of(name) && **delivered == 0).map(|(name, _)| name.clone()).collect()
}
