//! Values for keys of the channel and of cells.

use airlane_core::Stream;
use airlane_scenario::{Resolved, format};
use serde_json::{Value, json};

use super::host_settings::OWN;
use super::settings::{
    Draw, Settings, aqm, bytes, decibels, degrees, flag, kbps, khz, metres, ms, nanos, number, one_of,
    percent, quantity, real, whole,
};

pub(super) fn channel(settings: &mut Settings<'_>, base: &format::Channel) {
    match &base.path_loss {
        format::PathLoss::LogDistance(_) => settings.some(
            "channel.path_loss",
            vec![
                ("exponent", real(2.0, 4.0)),
                ("reference_distance", metres(1, 10)),
                ("reference_loss", decibels(30, 50, "dB")),
            ],
        ),
        format::PathLoss::Tr36814(_) => settings.some(
            "channel.path_loss",
            vec![("street_width", metres(5, 50)), ("building_height", metres(5, 50))],
        ),
        format::PathLoss::Tr38901(law) if law.scene != format::ChannelScene::Rma => {
            settings.maybe(0.5, "channel.path_loss", "optional_nlos", flag());
        }
        format::PathLoss::Friis
        | format::PathLoss::Cost231Hata(_)
        | format::PathLoss::Tr25814
        | format::PathLoss::Tr36873(_)
        | format::PathLoss::Tr38901(_) => {}
    }
    if base.shadowing == format::Shadowing::None {
        settings.maybe(0.05, "channel", "shadowing", one_of(&["none"]));
    } else {
        let keys = vec![
            ("deviation", decibels(0, 10, "dB")),
            ("correlation_distance", metres(1, 200)),
            ("site_correlation", percent(0, 100)),
        ];
        settings.some("channel.shadowing", keys);
    }
    match &base.fading {
        format::Fading::None => {}
        format::Fading::Flat(_)
        | format::Fading::Epa(_)
        | format::Fading::Eva(_)
        | format::Fading::Etu(_) => {
            settings.some("channel.fading", vec![("prb_spacing", khz(1, 400))]);
        }
        format::Fading::TdlA(_)
        | format::Fading::TdlB(_)
        | format::Fading::TdlC(_)
        | format::Fading::TdlD(_)
        | format::Fading::TdlE(_) => {
            settings.some("channel.fading", vec![("delay_spread", nanos(1, 2000))]);
        }
    }
    if matches!(base.blockage, format::Blockage::Screens(_)) {
        let keys = vec![
            ("people_speed", quantity(1, 10, "km/h")),
            ("vehicle_speed", quantity(1, 100, "km/h")),
            ("direct_power", decibels(-10, 30, "dB")),
            ("people_distance", Box::new(distances)),
            ("vehicle_distance", Box::new(distances)),
        ];
        settings.some("channel.blockage", keys);
    } else {
        settings.maybe(0.05, "channel", "blockage", one_of(&["none"]));
    }
    if matches!(base.bursts, format::Bursts::GilbertElliott(_)) {
        settings.maybe(0.5, "channel.bursts", "uplink_depth", decibels(0, 60, "dB"));
    } else {
        settings.maybe(0.05, "channel", "bursts", one_of(&["none"]));
    }
}

/// What cells do with UEs that are out of range. With a layout, the text has one cell.
pub(super) fn out_of_range(s: &mut Stream, base: &Resolved, layout: bool) -> Vec<(String, Value)> {
    let written = if layout { 1 } else { base.cell.len() };
    let drawn = (0..written).filter_map(|i| {
        let rule = super::one_of(s, &["unscheduled", "lowest-mcs"]);
        s.chance(0.5).then(|| (format!("cell.{i}.mac.out_of_range"), json!(rule)))
    });
    drawn.collect()
}

/// Each cell of the text.
pub(super) fn cells(settings: &mut Settings<'_>, base: &Resolved, layout: bool) {
    let written = if layout { 1 } else { base.cell.len() };
    // The same in all cells, because MELD-ME uses it.
    let table = settings.s.chance(0.4).then(|| one_of(&["efficiency", "openairinterface"])(settings.s));
    for (i, cell) in base.cell.iter().enumerate().take(written) {
        let at = &format!("cell.{i}");
        let keys = vec![("tx_power", decibels(27, 46, "dBm")), ("noise_figure", decibels(0, 10, "dB"))];
        settings.some(at, keys);
        antenna(settings, &format!("{at}.antenna"), &cell.antenna);
        scheduler(settings, &format!("{at}.scheduler"), &cell.scheduler);
        mac(settings, &format!("{at}.mac"), cell);
        if let Some(table) = &table {
            let table = if is_nr(cell) { json!("efficiency") } else { table.clone() };
            settings.set(&format!("{at}.mac"), "cqi_to_mcs", table);
        }
        uplink(settings, at, cell);
        bearers(settings, at, cell);
        if base.handover.is_some() {
            neighbours(settings, at, i, base, layout);
        }
        if i > 0 {
            settings.maybe(0.15, at, "interferer", Box::new(|_| json!(true)));
        }
    }
    // A flow may name its class where a cell has two bearers.
    if (0..written).any(|i| settings.has(&format!("cell.{i}"), "l4s_bearer")) {
        for i in 0..base.flow.len() {
            let class: Draw = Box::new(|s| json!([9, 80][s.below(2) as usize]));
            settings.maybe(0.3, &format!("flow.{i}"), "five_qi", class);
        }
    }
    if layout {
        settings.maybe(0.3, "layout", "serving_rings", whole(0, 0)); // at most one ring around the middle
    }
    service(settings, base, written);
    if base.handover.is_some() {
        // Longer than the drawn X2 delays, and than the drawn interruptions with random access.
        let keys = vec![("n311", whole(1, 10)), ("t304", ms(101, 2_000)), ("t311", ms(1_000, 3_000))];
        settings.some("handover", keys);
        settings.some("handover", vec![("t301", ms(100, 2_000)), ("cell_search", ms(20, 1_000))]);
        settings.maybe(0.3, "handover", "random_access", Box::new(random_access));
        settings.some("x2", vec![("jitter", ms(0, 30)), ("loss", percent(0, 10))]);
    }
}

/// Random access that waits for occasions of the PRACH.
fn random_access(s: &mut Stream) -> Value {
    if s.chance(0.2) {
        return json!("included");
    }
    let mut ms = |least, most| format!("{} ms", number(s, least, most));
    json!({ "kind": "occasions", "period": ms(1, 20), "completion": ms(0, 20), "retry": ms(1, 40) })
}

/// Least and greatest distance of blockers from the UE.
fn distances(s: &mut Stream) -> Value {
    let least = number(s, 1, 5);
    json!([format!("{least} m"), format!("{} m", least + number(s, 0, 10))])
}

/// The rule of handovers.
pub(super) fn algorithm(settings: &mut Settings<'_>) {
    let s = &mut *settings.s;
    let rule = match s.below(4) {
        0 | 1 => return,
        2 => json!("a3-rsrp"),
        _ => json!({
            "kind": "a2-a4-rsrq",
            "serving_threshold": number(s, 0, 34),
            "neighbour_offset": number(s, 0, 4),
            "rssi": one_of(&["all", "reference-signals"])(s),
        }),
    };
    settings.set("handover", "algorithm", rule);
}

fn antenna(settings: &mut Settings<'_>, at: &str, antenna: &format::Antenna) {
    let keys = match antenna {
        format::Antenna::Omni(_) => vec![("gain", decibels(-3, 15, "dB"))],
        format::Antenna::Sector(_) => vec![
            ("gain", decibels(0, 20, "dB")),
            ("beamwidth", degrees(20, 180)),
            ("front_to_back", decibels(0, 40, "dB")),
        ],
        format::Antenna::Panel(_) => return, // drawn in `links`
    };
    settings.some(at, keys);
}

fn scheduler(settings: &mut Settings<'_>, at: &str, scheduler: &format::Scheduler) {
    let window = || ("window", whole(2, 2_000));
    let domain = || ("domain", one_of(&["frequency", "time"]));
    let keys = match scheduler {
        format::Scheduler::ProportionalFair(_) | format::Scheduler::Qos(_) => vec![window()],
        format::Scheduler::BlindEqualThroughput(_) => vec![window(), domain()],
        format::Scheduler::MaximumThroughput(_) => vec![domain()],
        format::Scheduler::PrioritySet(_) => vec![
            window(),
            ("target", kbps(1, 20_000)),
            ("multiplexed", whole(1, 10)),
            ("metric", one_of(&["pfsch", "coita"])),
        ],
        format::Scheduler::ThroughputToAverage => {
            if settings.s.chance(0.3) {
                let cell = at.strip_suffix(".scheduler").expect("a key of a cell");
                settings.set(cell, "scheduler", json!({ "kind": "own", "policy": OWN }));
            }
            return;
        }
        format::Scheduler::RoundRobin | format::Scheduler::Own(_) => return,
    };
    settings.some(at, keys);
}

fn mac(settings: &mut Settings<'_>, at: &str, cell: &format::Cell) {
    let resource_blocks = u64::from(cell.resource_blocks);
    // A retransmission is after the reception of the block.
    let mut keys = vec![
        ("cqi_period", ms(1, 80)),
        ("cqi_delay", ms(0, 20)),
        ("harq_transmissions", whole(1, 10)),
        ("subheaders", flag()),
        ("grants_per_slot", whole(1, 110)),
        ("sounding_period", ms(1, 320)),
        ("blank_subframes", blank_subframes()),
        ("idle_partial_rbg", flag()),
    ];
    if !matches!(cell.uplink, format::Uplink::ConfiguredGrant(_)) {
        keys.push(("pucch_resource_blocks", whole(0, resource_blocks - 1)));
    }
    if !is_nr(cell) {
        keys.extend([("harq_round_trip", ms(6, 24)), ("downlink_latency", ms(1, 6))]);
    }
    settings.some(at, keys);
    let blank = format!("{at}.blank_subframes");
    settings.list.retain(|(path, subframes)| *path != blank || leaves_downlink(cell, subframes));
    if settings.s.chance(0.1) && !is_nr(cell) {
        // A block is retransmitted after its own grant.
        let grant = number(settings.s, 1, 10);
        settings.maybe(1.0, at, "grant_to_pusch", ms(grant, grant));
        settings.maybe(1.0, at, "harq_round_trip", ms(6.max(grant + 1), 24));
    }
    if let format::McsRule::Effective(_) = &cell.mac.mcs_rule {
        settings.some(&format!("{at}.mcs_rule"), vec![("target_bler", percent(1, 60))]);
    }
    if let format::PowerControl::OpenLoop(_) = &cell.mac.power_control {
        let keys = vec![("p0", decibels(-105, -60, "dBm")), ("alpha", percent(60, 100))];
        settings.some(&format!("{at}.power_control"), keys);
    }
}

/// Up to nine of ten subframes.
fn blank_subframes() -> Draw {
    Box::new(|s| {
        let share = s.uniform_in(0.05, 0.9);
        let spared = s.below(10);
        json!((0..10).filter(|subframe| *subframe != spared && s.chance(share)).collect::<Vec<u64>>())
    })
}

/// Whether a slot of the downlink is in a subframe that is not blank.
fn leaves_downlink(cell: &format::Cell, blank: &Value) -> bool {
    let Some(format::Radio::Nr(nr)) = &cell.radio else { return true };
    let format::Duplex::Tdd(tdd) = &nr.duplex else { return true };
    let slots = 1 << nr.subcarrier_spacing.numerology();
    let is_blank = |subframe: u64| blank.as_array().is_some_and(|list| list.contains(&json!(subframe)));
    let pattern = tdd.pattern.as_bytes();
    // Frames and patterns repeat together.
    (0..10 * slots * pattern.len())
        .any(|slot| pattern[slot % pattern.len()] == b'D' && !is_blank((slot / slots % 10) as u64))
}

fn uplink(settings: &mut Settings<'_>, at: &str, cell: &format::Cell) {
    if settings.s.chance(0.25) && !is_nr(cell) {
        settings.set(at, "uplink", json!("polled"));
        let keys = vec![
            ("interval", ms(1, 60)),
            ("initial_grant", bytes(1, 1_500)),
            ("polls", whole(1, 6)),
            ("processing", ms(0, 10)),
        ];
        return settings.some(&format!("{at}.uplink"), keys);
    }
    let keys = match &cell.uplink {
        format::Uplink::SchedulingRequest(_) => vec![
            ("scheduling_request_period", ms(1, 80)),
            ("processing", ms(0, 10)),
            ("initial_grant", bytes(1, 1_500)),
        ],
        format::Uplink::IdealBufferStatus(_) => vec![("report_delay", ms(0, 20))],
        format::Uplink::Polled(_) | format::Uplink::ConfiguredGrant(_) => return,
    };
    settings.some(&format!("{at}.uplink"), keys);
}

/// Whether a cell has NR.
pub(super) const fn is_nr(cell: &format::Cell) -> bool {
    matches!(cell.radio, Some(format::Radio::Nr(_)))
}

/// Sometimes a second bearer.
fn l4s_bearer(settings: &mut Settings<'_>, at: &str) {
    if !settings.s.chance(0.15) {
        return;
    }
    let rules = super::settings::one_of(&["drop-tail", "codel", "red", "fq-codel", "pie", "dualpi2", "abc"]);
    let keys: Vec<(&str, Draw)> = vec![
        ("buffer", bytes(1_500, 600_000)),
        ("aqm", rules),
        ("rate", super::settings::kbps(1, 20_000)),
        ("default_rate", super::settings::kbps(1, 20_000)),
        ("bucket", ms(1, 1_000)),
    ];
    let mut table = json!({});
    for (key, draw) in keys {
        if settings.s.chance(0.5) {
            table[key] = draw(settings.s);
        }
    }
    let (place, key) = at.rsplit_once('.').expect("a path");
    settings.set(place, key, table);
}

fn bearers(settings: &mut Settings<'_>, at: &str, cell: &format::Cell) {
    let sn_bits = |choices: &'static [u64]| -> Draw {
        Box::new(move |s: &mut Stream| json!(choices[s.below(choices.len() as u64) as usize]))
    };
    let (keys, rule) = match &cell.rlc {
        format::Rlc::Am(am) => (
            vec![
                ("sn_bits", sn_bits(&[10, 16])),
                ("poll_retransmit", ms(5, 300)),
                ("reordering", ms(0, 200)),
                ("status_prohibit", ms(0, 200)),
                ("poll_pdu", whole(1, 256)),
                ("poll_byte", bytes(1, 1_000_000)),
                ("max_retransmissions", whole(1, 32)),
                ("status_alone", flag()),
            ],
            &am.aqm,
        ),
        format::Rlc::Um(um) => (vec![("sn_bits", sn_bits(&[5, 10])), ("reordering", ms(0, 200))], &um.aqm),
        format::Rlc::Tm(tm) => (vec![], &tm.aqm),
        format::Rlc::NrAm(am) => (
            vec![
                ("sn_bits", sn_bits(&[12, 18])),
                ("poll_retransmit", ms(5, 300)),
                ("reassembly", ms(0, 200)),
                ("status_prohibit", ms(0, 200)),
                ("poll_pdu", whole(1, 256)),
                ("poll_byte", bytes(1, 1_000_000)),
                ("max_retransmissions", whole(1, 32)),
                ("reordering", ms(0, 500)),
                ("out_of_order", flag()),
            ],
            &am.aqm,
        ),
        format::Rlc::NrUm(um) => (
            vec![
                ("sn_bits", sn_bits(&[6, 12])),
                ("reassembly", ms(0, 200)),
                ("reordering", ms(0, 500)),
                ("out_of_order", flag()),
            ],
            &um.aqm,
        ),
    };
    let of_nr = matches!(cell.rlc, format::Rlc::NrAm(_) | format::Rlc::NrUm(_));
    settings.some(&format!("{at}.rlc"), keys);
    aqm(settings, &format!("{at}.rlc.aqm"), rule);
    l4s_bearer(settings, &format!("{at}.l4s_bearer"));
    let confirmed = matches!(cell.rlc, format::Rlc::Am(_) | format::Rlc::NrAm(_));
    let mut keys = vec![(
        "sn_bits",
        sn_bits(match (of_nr, confirmed) {
            (true, _) => &[12, 18],
            (false, true) => &[12, 15, 18],
            (false, false) => &[7, 12, 15, 18],
        }),
    )];
    if confirmed {
        keys.extend([
            ("retransmission_queue", bytes(1, 600_000)),
            ("shares_buffer", flag()),
            ("holds_waiting", flag()),
        ]);
    }
    settings.some(&format!("{at}.pdcp"), keys);
}

/// Periods in which cells do not serve as usual, for cells that can have them.
fn service(settings: &mut Settings<'_>, base: &Resolved, written: usize) {
    let within = base.run.duration.0.as_nanos() / 1_000_000;
    let lost = base.handover.as_ref().is_none_or(|handover| handover.radio_link_failure);
    let serves = |settings: &Settings<'_>, i: usize| {
        !base.cell[i].interferer
            && base.cell[i].neighbours.is_none()
            && !settings.has(&format!("cell.{i}"), "interferer")
    };
    for (i, cell) in base.cell.iter().enumerate().take(written) {
        let at = &format!("cell.{i}");
        if lost && cell.early_throttling.is_none() && settings.s.chance(0.1) {
            let [begin, lasts] = [3, 2].map(|share| settings.s.below(within * share / 4).max(1));
            let off = json!([{ "at": format!("{begin} ms"), "duration": format!("{lasts} ms") }]);
            settings.set(at, "outages", off);
            continue;
        }
        let Some(handover) = &base.handover else { continue };
        let measured = handover.measurement_period.0.as_nanos() / 1_000_000 + 1;
        let target = (0..base.cell.len()).any(|other| other != i && serves(settings, other));
        let target = target && !settings.has("layout", "serving_rings");
        let can = target && serves(settings, i) && !settings.has(at, "neighbours") && measured < within;
        if can && settings.s.chance(0.2) {
            let begin = measured + settings.s.below(within - measured);
            let lasts = 1 + settings.s.below(within);
            let (key, many) = match settings.s.chance(0.5) {
                true => ("ues", json!(1 + settings.s.below(5))),
                false => ("share", json!(format!("{} %", 1 + settings.s.below(100)))),
            };
            let (begin, lasts) = (format!("{begin} ms"), format!("{lasts} ms"));
            settings.set(at, "shedding", json!([{ "at": begin, "duration": lasts, key: many }]));
        }
    }
}

fn neighbours(settings: &mut Settings<'_>, at: &str, own: usize, base: &Resolved, layout: bool) {
    settings.maybe(0.2, at, "max_ues", whole(1, 12));
    if !settings.s.chance(0.2) {
        return;
    }
    let others = base.cell.iter().enumerate().filter(|(i, _)| *i != own && !layout);
    let names: Vec<&str> =
        others.filter(|_| settings.s.chance(0.7)).map(|(_, cell)| cell.name.as_str()).collect();
    settings.set(at, "neighbours", json!(names));
}

/// A position near the first cell, such that UEs placed within 200 m of it are in all drawn areas of
/// movement.
pub(super) fn near_the_middle(s: &mut Stream) -> Value {
    let mut within = |low: i64, many: u64| format!("{} m", low + number(s, 0, many) as i64);
    json!([within(-20, 20), within(-10, 40)])
}
