//! The flows that must receive something in a random scenario, because the budget of the channel and
//! the rules of all nodes in the path leave no excuse.

use airlane_core::{BitRate, Bytes, Dbm, Decibel, Duration};
use airlane_radio::large_scale::{ChannelReport, ChannelScenario, LargeScale};
use airlane_radio::path_loss::{City, Scene, Surroundings};
use airlane_radio::{PathLoss, Position, RadioPath, noise};
use airlane_record::{Column, Table};
use airlane_scenario::quantity::{Rate, Size};
use airlane_scenario::{Resolved, format};

/// The minimum budget above noise for the most robust MCS, with a margin.
const BUDGET: Decibel = Decibel(3.0);
/// The additional budget with fading: it is exceeded one time in ten (Rayleigh).
const FADES: Decibel = Decibel(10.0);
/// Fades pass within a few milliseconds at this speed.
const FAST_KMH: f64 = 30.0;
/// A flow of this duration has received something.
const LONG_ENOUGH: Duration = Duration::from_millis(600);
/// The SYN of one of several flows may arrive while the others fill the queue of the link, and is
/// repeated after this time (RFC 6298 §2.1).
const SYN_AGAIN: Duration = Duration::from_millis(1000);
/// A longer queue of other flows' packets is an excuse.
const QUEUE_MAX: Duration = Duration::from_millis(100);
/// A packet that waits this long in a cell that serves all UEs is one of many.
const DISCARD_MIN: Duration = Duration::from_millis(100);
/// The largest packet of an ordinary path, which fits into every cell's queue.
const ETHERNET: Bytes = Bytes(1500);
/// With fewer transmissions, HARQ loses one block of a hundred (target error rate of the first: 10 %).
const HARQ_MIN: u8 = 3;
/// With fewer, RLC gives up PDUs that TCP then has to retransmit.
const RLC_MIN: u8 = 4;
/// The time RLC needs to detect and request a lost PDU; a longer one is no repair within the time of a flow.
const REPAIR_MAX: Duration = Duration::from_millis(250);
/// A UE's usual time to its first grant, for which there is always time.
const ACCESS: Duration = Duration::from_millis(20);
/// More than the uplink of the widest cell carries.
const UPLINK_MAX: u64 = 100_000_000;
/// A smaller rate for each flow of a link is an excuse.
const SHARE_MIN: u64 = 500_000;

/// Whether the mean channel carries data in both directions for any position of the UE: this much
/// above noise and the neighbours' permanent interference.
pub(crate) fn within_reach(scenario: &Resolved, ue: &format::Ue) -> bool {
    budget(scenario, ue) > BUDGET.linear()
}

/// The ratio of the signal to noise and the neighbours' permanent interference, for the worst position
/// of the UE, in the weaker direction.
fn budget(scenario: &Resolved, ue: &format::Ue) -> f64 {
    let Some(channel) = &scenario.channel else { return f64::INFINITY };
    // Drawn or moving UEs stay within 250 m of the first cell, or in the hexagon around the only one.
    let hexagon = match &ue.placement {
        Some(format::Placement::Hexagonal(hexagons)) => hexagons.inter_site_distance.0 / 3.0_f64.sqrt(),
        Some(format::Placement::Disc(_) | format::Placement::Points(_)) | None => 0.0,
    };
    if hexagon > 0.0 && scenario.cell.len() > 1 {
        return 0.0;
    }
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
            if index == 0 { hexagon.max(250.0) } else { (apart - 250.0).abs() }
        }
    };
    let loss = |index: usize, cell: &format::Cell, hz: f64| {
        let at = |x, z| Position { x, y: 0.0, z };
        let path = RadioPath::between(&at(0.0, cell.height.0), &at(metres(index, cell), ue.height.0), false);
        law(&channel.path_loss, hz).loss(&path)
    };
    let prbs = |cell: &format::Cell| usize::from(cell.resource_blocks);
    // The penetration loss and the gain of an omnidirectional antenna are the same in both directions.
    let on_the_way = |cell: &format::Cell| match &cell.antenna {
        format::Antenna::Omni(omni) => ue.penetration_loss.0 - omni.gain.0,
        format::Antenna::Sector(_) | format::Antenna::Panel(_) => ue.penetration_loss.0,
    };
    let heard = |(index, cell): (usize, &format::Cell)| {
        let sent = noise::prb_power(cell.tx_power.0, prbs(cell));
        let lost = loss(index, cell, cell.frequency.0) + on_the_way(cell);
        f64::from(noise::prb_snr(sent, lost, noise::prb_noise(prb_hz(cell), ue.noise_figure.0)))
    };
    let heard: Vec<f64> = scenario.cell.iter().enumerate().map(heard).collect();
    let serving = (0..heard.len()).filter(|index| !scenario.cell[*index].interferer);
    let named = serving.clone().find(|index| Some(&scenario.cell[*index].name) == ue.first_cell());
    let best = named.or(serving.max_by(|a, b| heard[*a].total_cmp(&heard[*b]))).unwrap_or(0);
    let cell = &scenario.cell[best];
    let downlink = heard[best] / (1.0 + heard.iter().sum::<f64>() - heard[best]);
    let up = loss(best, cell, cell.uplink_frequency.0) + on_the_way(cell);
    let most = noise::prb_power(ue.tx_power.0, prbs(cell));
    let sent = match &cell.mac.power_control {
        format::PowerControl::None => most,
        format::PowerControl::OpenLoop(law) => {
            let asked = law.p0.0.0 + law.alpha.0 * up.0;
            if asked < most.0 { Dbm(asked) } else { most }
        }
    };
    let uplink = f64::from(noise::prb_snr(sent, up, noise::prb_noise(prb_hz(cell), cell.noise_figure.0)));
    downlink.min(uplink)
}

/// Bandwidth of a PRB of a cell.
fn prb_hz(cell: &format::Cell) -> f64 {
    let Some(format::Radio::Nr(nr)) = &cell.radio else { return 180e3 };
    f64::from(180_000 << nr.subcarrier_spacing.numerology())
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
        format::PathLoss::Tr36873(law) => {
            let scenario = match law.scene {
                format::UrbanScene::Uma => ChannelScenario::UrbanMacro,
                format::UrbanScene::Umi => ChannelScenario::UrbanMicro,
            };
            PathLoss::LargeScale(LargeScale::new(ChannelReport::Tr36873, scenario, frequency_hz))
        }
        format::PathLoss::Tr38901(law) => {
            let scenario = match law.scene {
                format::ChannelScene::Uma => ChannelScenario::UrbanMacro,
                format::ChannelScene::Umi => ChannelScenario::UrbanMicro,
                format::ChannelScene::Rma => ChannelScenario::RuralMacro,
                format::ChannelScene::InhMixed => ChannelScenario::MixedOffice,
                format::ChannelScene::InhOpen => ChannelScenario::OpenOffice,
            };
            let model = LargeScale::new(ChannelReport::Tr38901, scenario, frequency_hz);
            PathLoss::LargeScale(LargeScale { optional_nlos: law.optional_nlos, ..model })
        }
    }
}

/// The sections of the flows without an excuse: downlink, with more data than can be carried, to
/// static UEs within reach of the only cell, or to the host of a wired network.
///
/// Excuses are excluded by rules. Maximum throughput serves the best UE as long as it has data, so others
/// starve; so does throughput to average, if a flat band makes all metrics equal and the first wins. A deep
/// fade, burst, shadow or the back of a sector antenna is not in the budget. A short discard timer may expire
/// in a slow cell. Data that is lost at the beginning and repaired neither by HARQ nor by RLC is
/// retransmitted by TCP after a second, which is the whole duration of a run.
pub(crate) fn without_excuse(scenario: &Resolved) -> Vec<usize> {
    let air = match scenario.network {
        format::Network::Wired => None,
        _ => match open_air(scenario) {
            Some(air) => Some(air),
            None => return Vec::new(),
        },
    };
    if !proxies_are_patient(scenario) || !links_are_wide(scenario) {
        return Vec::new();
    }
    let alone = scenario.flow.len() == 1 && scenario.ue.iter().map(|ue| ue.count).sum::<u32>() <= 1;
    let core = scenario.backhaul.iter().flat_map(format::Backhaul::hops);
    let core = core.map(|hop| holds(hop.queue, &hop.aqm));
    let room = core.fold(holds(scenario.internet.queue, &scenario.internet.aqm), Bytes::min);
    let excused = |flow: &format::Flow| {
        // Data before the end of the warm-up does not count.
        let start = flow.start.0.max(scenario.run.warmup.0);
        let end = flow.stop.map_or(scenario.run.duration.0, |stop| stop.0.min(scenario.run.duration.0));
        let wait = air.map_or(Duration::ZERO, |(cell, _)| access(cell));
        let long_enough = LONG_ENOUGH + wait + if alone { Duration::ZERO } else { syn_again(flow) };
        flow.direction != format::FlowDirection::Downlink
            || !saturates(flow)
            || end.saturating_sub(start) < long_enough
            || largest_packet(flow) > air.map_or(room, |(cell, _)| room.min(rlc_buffer(cell)))
            || air.is_some_and(|(_, least)| is_far(scenario, flow, least))
            || air.is_some_and(|(cell, _)| is_off(cell, start, start + long_enough))
    };
    (0..scenario.flow.len()).filter(|section| !excused(&scenario.flow[*section])).collect()
}

/// The only cell, if it and its channel leave no excuse, and the required budget of a UE in it.
fn open_air(scenario: &Resolved) -> Option<(&format::Cell, f64)> {
    let [cell] = &scenario.cell[..] else { return None };
    // Bearers of higher priority, and limits of rates, may starve a flow.
    if scenario.flow.iter().any(|flow| flow.qos.is_some()) || scenario.ue.iter().any(|ue| ue.ambr.is_some()) {
        return None;
    }
    least_budget(scenario).filter(|_| is_open(cell)).map(|least| (cell, least))
}

/// The required budget of a UE, if the channel has nothing that is not in it.
fn least_budget(scenario: &Resolved) -> Option<f64> {
    let channel = scenario.channel.as_ref()?;
    let fades = match channel.fading.speed() {
        None => Some(false),
        Some(speed) => (speed.0 >= FAST_KMH).then_some(true),
    };
    let clear = matches!(channel.shadowing, format::Shadowing::None)
        && matches!(channel.bursts, format::Bursts::None)
        && matches!(channel.blockage, format::Blockage::None)
        && channel.minimum_coupling_loss.is_none()
        && channel.clutter_loss_map.is_none()
        && scenario.cell.iter().all(|cell| cell.path_loss_map.is_none())
        && scenario.ue.iter().all(|ue| ue.building.is_none());
    let least = BUDGET.linear() * if fades? { FADES.linear() } else { 1.0 };
    clear.then_some(least)
}

/// How many times in a row all UEs may miss PDCCH, `None` if that is not bounded: a UE may be too far away, or in a burst or a
/// shadow, or may not leave a fade.
///
/// At [`BUDGET`], 3 dB, a UE misses PDCCH with probability 1.2e-6: Q(11.07 / 2.35) by the closed form of the control region,
/// whose median is -8.07 dB and whose width is 2.35 dB. Two in a row have 1.5e-12. At 10 dB more, with Rayleigh fading, it
/// misses with probability 0.9 %: the fade is 21.07 dB with 1 - exp(-10^-2.107) = 0.78 %, and the width of the closed form
/// multiplies that by exp((2.35 ln(10) / 10)^2 / 2) = 1.16. Four in a row have 7e-9. Paging occasions are at least 320 ms
/// apart, in which the channel of a UE at [`FAST_KMH`] changes many times.
pub(crate) fn most_misses(scenario: &Resolved) -> Option<u32> {
    let least = least_budget(scenario)?;
    let near =
        |ue: &format::Ue| matches!(ue.mobility, format::Mobility::Static) && budget(scenario, ue) >= least;
    let fades = least > BUDGET.linear();
    scenario.ue.iter().all(near).then_some(if fades { 3 } else { 1 })
}

/// Whether the radio is off at some time from `start` to `end`. PDCP may then discard the SYN, which TCP
/// repeats after a second.
fn is_off(cell: &format::Cell, start: Duration, end: Duration) -> bool {
    cell.outages.iter().flatten().any(|outage| outage.at.0 < end && outage.at.0 + outage.duration.0 > start)
}

/// Whether the UE of a flow may be out of reach, or its blocks are not adapted to its channel.
fn is_far(scenario: &Resolved, flow: &format::Flow, least: f64) -> bool {
    let ue = scenario.ue.iter().find(|ue| Some(&ue.name) == flow.to.as_ref());
    ue.is_none_or(|ue| {
        !matches!(ue.mobility, format::Mobility::Static)
            // A fixed MCS, which does not depend on the channel.
            || ue.fixed_mcs.is_some()
            || budget(scenario, ue) < least
    })
}

/// Whether a cell serves all UEs, and repairs losses before TCP has to.
fn is_open(cell: &format::Cell) -> bool {
    if !matches!((&cell.drx, &cell.rrc), (format::Drx::None, format::Rrc::AlwaysConnected)) {
        return false; // data waits for a cycle or for a connection, which is the most of a run
    }
    let fair = !matches!(
        cell.scheduler,
        format::Scheduler::MaximumThroughput(_)
            | format::Scheduler::ThroughputToAverage
            | format::Scheduler::Own(_)
    );
    let harq = cell.harq && !cell.control_errors && cell.mac.harq_transmissions >= HARQ_MIN;
    let repairs = match &cell.rlc {
        format::Rlc::Am(am) => {
            let waits = am.poll_retransmit.0 + am.reordering.0 + am.status_prohibit.0;
            waits <= REPAIR_MAX && am.max_retransmissions >= RLC_MIN
        }
        format::Rlc::NrAm(am) => {
            // PDCP must wait for the repair.
            let waits = am.poll_retransmit.0 + am.reassembly.0 + am.status_prohibit.0;
            waits <= REPAIR_MAX && am.reordering.0 >= REPAIR_MAX && am.max_retransmissions >= RLC_MIN
        }
        format::Rlc::Um(_) | format::Rlc::NrUm(_) => false,
        // A packet that fits into no block stops all packets behind it.
        format::Rlc::Tm(_) => return false,
    };
    fair && (repairs || harq)
        && matches!(cell.antenna, format::Antenna::Omni(_))
        && cell.early_throttling.is_none()
        // A flow in one bearer may starve those in the other.
        && cell.l4s_bearer.is_none()
        && cell.pdcp.discard_timer.is_none_or(|timer| timer.0 >= DISCARD_MIN)
}

/// The additional time until a UE can answer.
fn access(cell: &format::Cell) -> Duration {
    let wait = match &cell.uplink {
        format::Uplink::SchedulingRequest(u) => u.scheduling_request_period.0 + u.processing.0,
        // The grants before the one that counts.
        format::Uplink::Polled(u) => u.interval.0 * u64::from(u.polls) + u.processing.0,
        format::Uplink::ConfiguredGrant(u) => u.period.0,
        format::Uplink::IdealBufferStatus(u) => u.report_delay.0,
    };
    // In NR a few slots, and the wait for one with an uplink.
    let grant = cell.mac.grant_to_pusch.map_or(ACCESS, |time| time.0);
    (wait + grant).saturating_sub(ACCESS)
}

/// When a SYN that was dropped by a full queue is repeated.
fn syn_again(flow: &format::Flow) -> Duration {
    match &flow.transport {
        format::Transport::Tcp(tcp) => SYN_AGAIN.max(tcp.rto_initial.0),
        format::Transport::Udp(_)
        | format::Transport::Kernel(_)
        | format::Transport::Mptcp(_)
        | format::Transport::Mpquic(_)
        | format::Transport::Icmp
        | format::Transport::Quic(_)
        | format::Transport::External => SYN_AGAIN,
    }
}

/// Whether a flow always has data, or has again before the measurement starts.
fn saturates(flow: &format::Flow) -> bool {
    match &flow.app {
        format::App::Bulk(_) => flow.writes.is_none(),
        format::App::Cbr(cbr) => cbr.rate.0.transmission_time(cbr.payload.0) <= LONG_ENOUGH / 2,
        _ => false,
    }
}

/// The largest IP packet of a flow.
fn largest_packet(flow: &format::Flow) -> Bytes {
    match &flow.transport {
        format::Transport::Tcp(tcp) => tcp.mtu.0,
        format::Transport::Quic(quic) => quic.mtu.0,
        format::Transport::Kernel(kernel) => kernel.mtu.0,
        format::Transport::Mptcp(mptcp) => mptcp.tcp.mtu.0,
        format::Transport::Mpquic(mpquic) => mpquic.quic.mtu.0,
        format::Transport::Udp(_) | format::Transport::Icmp | format::Transport::External => ETHERNET,
    }
}

/// The largest packet that always passes a link: a discipline adds each packet to its queue first, even if
/// the link is idle.
fn holds(queue: Size, aqm: &format::Aqm) -> Bytes {
    match aqm {
        format::Aqm::DropTail => queue.0.max(ETHERNET),
        _ => queue.0,
    }
}

fn rlc_buffer(cell: &format::Cell) -> Bytes {
    match &cell.rlc {
        format::Rlc::Am(am) => am.buffer.0,
        format::Rlc::Um(um) => um.buffer.0,
        format::Rlc::Tm(tm) => tm.buffer.0,
        format::Rlc::NrAm(am) => am.buffer.0,
        format::Rlc::NrUm(um) => um.buffer.0,
    }
}

/// Whether no split-connection proxy refuses connections, or gives up slow ones.
fn proxies_are_patient(scenario: &Resolved) -> bool {
    scenario.middlebox.iter().all(|one| match one {
        format::Middlebox::Pep(_) => true,
        format::Middlebox::SplitProxy(proxy) => {
            let times = [proxy.connect_timeout.0, proxy.stall_timeout.0, proxy.idle_timeout.0];
            proxy.when_full == format::WhenFull::PassThrough
                && times.iter().all(|time| *time >= scenario.run.duration.0)
        }
    })
}

/// Whether the links before the cell, or the host, carry enough of every flow, soon enough.
fn links_are_wide(scenario: &Resolved) -> bool {
    let internet = &scenario.internet;
    if scenario.flow.iter().any(|flow| matches!(flow.app, format::App::Ppbp(_))) {
        return false; // the sum of bursts is unbounded
    }
    let loses = internet.loss.0 > 0.0 || internet.policer.is_some();
    let will_lose = internet.loss_steps.iter().flatten().any(|step| step.loss.0 > 0.0);
    let traced = internet.trace.is_some() || internet.uplink_trace.is_some();
    if traced || !internet.hold.is_empty() || loses || will_lose {
        return false;
    }
    // A packet on a detour is delayed as in a queue.
    if internet.detours.iter().flatten().any(|detour| detour.extra.0 > QUEUE_MAX) {
        return false;
    }
    let ues: u64 = scenario.ue.iter().map(|ue| u64::from(ue.count)).sum();
    let ues = if scenario.ue.is_empty() { scenario.flow.len() as u64 } else { ues };
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
            format::App::OnOff(app) => Some(app.rate.0.bits_per_second() * ues),
            format::App::Ping(ping) => {
                Some(8_000_000_000 * (ping.payload.0.get() + 28) / ping.interval.0.as_nanos() * ues)
            }
            format::App::Rtc(call) => {
                let rate = match &call.controller {
                    format::RtcController::Constant(constant) => constant.rate,
                    // With probes, which are up to twice the highest rate of video, and audio.
                    _ => Rate(BitRate(3 * call.video.max.0.bits_per_second())),
                };
                Some(rate.0.bits_per_second() * ues)
            }
            format::App::Xr(xr) => {
                let message = 8_000_000_000 * (xr.pose.size.0.get() + 28) / xr.pose.interval.0.as_nanos();
                let videos = [&xr.video, &xr.uplink_video].map(|video| video.rate.0.bits_per_second());
                Some((message + videos.iter().sum::<u64>()) * ues)
            }
            // Its look-ahead has at most 5 x 29 packets of 1440 B, with a forecast each 20 ms.
            format::App::Sprout(_) => Some(5 * 29 * 1440 * 8 * 50 * ues),
            _ => None,
        })
        .sum();
    let first = steps.chain([internet.rate.0]);
    let core = scenario.backhaul.iter().flat_map(format::Backhaul::hops).map(|hop| hop.rate.0).min();
    let rates = first.clone().chain(core);
    // Servers with their own links fill the link to the cell together.
    let servers = if internet.shared { 1 } else { scenario.flow.len() as u64 * ues };
    // The uplink data of a cell is less than this, or is hardly delayed.
    let up = internet.uplink_rate.0;
    let upwards = wide(up) && (up.bits_per_second() >= UPLINK_MAX || short(up, internet.uplink_queue));
    upwards
        && rates.clone().all(wide)
        && short(internet.rate.0, internet.queue)
        // There is no queue at a link that is wider than the one before.
        && core.is_none_or(|core| {
            first.clone().all(|rate| servers * rate.bits_per_second() <= core.bits_per_second())
        })
        && rates.clone().all(|rate| 2 * offered <= rate.bits_per_second())
}

/// The flows of these that received nothing, by their rows in the table `flows`.
pub(crate) fn received_nothing(scenario: &Resolved, sections: &[usize], flows: &Table) -> Vec<String> {
    let (Some(Column::Text(names)), Some(Column::I64(delivered))) =
        (flows.column("flow"), flows.column("packets_delivered"))
    else {
        panic!("the table of flows has other columns");
    };
    let of = |name: &str| {
        sections.iter().any(|section| {
            let own = scenario.flow[*section].name.clone();
            let own = own.unwrap_or_else(|| format!("flow-{}", section + 1));
            let rest = name.strip_prefix(&own);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    };
    let rows = names.iter().zip(delivered);
    rows.filter(|(name, delivered)| of(name) && **delivered == 0).map(|(name, _)| name.clone()).collect()
}
