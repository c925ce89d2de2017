//! The table of the energy of UEs.

use airlane_core::{Duration, UeId};
use airlane_engine::Simulation;
use airlane_ran::RadioNetwork;
use airlane_ran::energy::{Depth, Phase, UeEnergy};
use airlane_record::Table;

use crate::wiring::Places;

/// The table `energy`, one row for each UE whose energy is counted; `None` if there is none.
pub(crate) fn table(simulation: &Simulation, places: &Places, hosts: &[String]) -> Option<Table> {
    let radio = simulation.node::<RadioNetwork>(places.mobile?.radio)?;
    let energy = |(ue, name)| Some((name, radio.energy(UeId(ue), simulation.now())?));
    let rows: Vec<(&String, UeEnergy)> = (0..).zip(hosts).filter_map(energy).collect();
    (!rows.is_empty()).then(|| of(&rows))
}

fn of(rows: &[(&String, UeEnergy)]) -> Table {
    let share = |part: Duration, one: &UeEnergy| part.as_secs_f64() / one.total().as_secs_f64();
    let each = |value: &dyn Fn(&UeEnergy) -> f64| rows.iter().map(|(_, one)| value(one)).collect::<Vec<_>>();
    let mut table = Table::default();
    table.push_text("ue", rows.iter().map(|(name, _)| name.as_str())).means("UE");
    table
        .push_f64(
            "relative_power",
            each(&|one| one.relative.map_or(f64::NAN, |energy| energy / one.total().as_secs_f64())),
        )
        .means("mean power of the modem relative to deep sleep, TR 38.840");
    table
        .push_f64("energy_J", each(&|one| one.joules.unwrap_or(f64::NAN)))
        .means("energy of the LTE phone of Huang et al., MobiSys 2012");
    table
        .push_f64("deep_sleep", each(&|one| share(one.slept(Depth::Deep), one)))
        .means("share of time in deep sleep: in gaps above 20 ms");
    table
        .push_f64("light_sleep", each(&|one| share(one.slept(Depth::Light), one)))
        .means("share of time in light sleep: in gaps above 6 ms");
    table
        .push_f64("micro_sleep", each(&|one| share(one.slept(Depth::Micro), one)))
        .means("share of time in micro sleep: in shorter gaps");
    table
        .push_f64("listening", each(&|one| share(one.listened(), one)))
        .means("share of time in which it listened to PDCCH");
    table
        .push_f64("receiving", each(&|one| share(one.radio_use.receiving, one)))
        .means("share of time of slots with a block for it, summed over its cells");
    table
        .push_f64("sending", each(&|one| share(one.radio_use.sending, one)))
        .means("share of time of slots with a block from it");
    table
        .push_f64("connected", each(&|one| share(one.spent(Phase::Connected), one)))
        .means("share of time with an RRC connection");
    table
        .push_f64("connecting", each(&|one| share(one.spent(Phase::Connecting), one)))
        .means("share of time in which the connection was set up");
    table
        .push_f64("released", each(&|one| share(one.spent(Phase::Released), one)))
        .means("share of time in idle or inactive state");
    table
        .push_count("received_bytes", rows.iter().map(|(_, one)| one.radio_use.received.get()))
        .means("bytes of blocks for it, repetitions included");
    table
        .push_count("sent_bytes", rows.iter().map(|(_, one)| one.radio_use.sent.get()))
        .means("bytes of blocks from it, repetitions included");
    table
}
