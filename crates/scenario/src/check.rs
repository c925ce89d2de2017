//! What types cannot say: names that must fit together, and limits that are refused before any
//! memory is taken.

use std::collections::BTreeSet;
use std::path::Path;

use airlane_core::Duration;

use crate::de::nearest_help;
use crate::error::ScenarioError;
use crate::format::{
    App, Cell, Flow, Internet, Mac, Mobility, Network, PathLoss, Resolved, Rlc, Transport, Ue, Uplink,
};
use crate::quantity::{Metres, Size, Time};
use crate::tree::{OVERRIDE, Tree, Value};

/// UEs in all.
pub(crate) const UES_MAX: u64 = 10_000;
/// Flows in all.
pub(crate) const FLOWS_MAX: u64 = 10_000;
/// Cells in all.
const CELLS_MAX: usize = 1_000;
/// Bins of a time series in all, over all flows: what fits into memory.
const BINS_MAX: u64 = 50_000_000;
/// Bandwidths of LTE in resource blocks (TS 36.104 table 5.6-1).
const RESOURCE_BLOCKS: [u16; 6] = [6, 15, 25, 50, 75, 100];
/// Largest IP packet (RFC 791).
const IP_PACKET_MAX: u64 = 65_535;
/// Smallest MTU: room for all headers and options and some payload.
const MTU_MIN: u64 = 128;

type Checked = Result<(), ScenarioError>;

/// Checks everything.
pub(crate) fn check(scenario: &Resolved, tree: &Tree) -> Checked {
    let at = Place { tree };
    run(scenario, &at)?;
    internet(&scenario.internet, &at)?;
    match scenario.network {
        Network::Wired => wired(tree)?,
        Network::Typical | Network::Lena337 => cellular(scenario, &at)?,
    }
    flows(scenario, &at)
}

/// Finds the line and the value of a key.
struct Place<'a> {
    tree: &'a Tree,
}

impl Place<'_> {
    fn fail(&self, key: &str, message: impl Into<Box<str>>, help: impl Into<Box<str>>) -> Checked {
        let mut error = ScenarioError::new(key, message, help);
        let mut tree = Some(self.tree);
        for step in key.split('.') {
            error.line = tree.map(|t| t.line).filter(|line| *line != 0).or(error.line);
            tree = tree.and_then(|t| match (&t.value, step.parse::<usize>()) {
                (Value::Array(items), Ok(index)) => items.get(index),
                _ => t.get(step),
            });
        }
        if let Some(tree) = tree {
            error.value = tree.written().into();
            error.line = Some(tree.line).filter(|line| *line != 0).or(error.line);
        }
        error.line = error.line.filter(|line| *line != OVERRIDE);
        Err(error)
    }

    fn require(&self, ok: bool, key: &str, message: &str, help: &str) -> Checked {
        if ok { Ok(()) } else { self.fail(key, message, help) }
    }

    fn positive(&self, time: Time, key: &str) -> Checked {
        self.require(time.0 > Duration::ZERO, key, "a time of nothing", "it must be above zero")
    }

    fn slots(&self, time: Time, key: &str, least: u64) -> Checked {
        let slot = Duration::from_millis(1).as_nanos();
        let ns = time.0.as_nanos();
        let ok = ns.is_multiple_of(slot) && ns / slot >= least && ns / slot <= 10_000;
        let help = format!("whole slots of 1 ms, from {least} ms to 10 s");
        self.require(ok, key, "no number of slots that the MAC can have", &help)
    }

    fn distance(&self, length: Metres, key: &str) -> Checked {
        self.require(length.0 >= 0.0, key, "a distance cannot be negative", "it must be 0 m or more")
    }
}

fn run(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let run = &scenario.run;
    at.positive(run.duration, "run.duration")?;
    at.require(
        run.warmup < run.duration,
        "run.warmup",
        "the run ends before it",
        "it must be below run.duration",
    )?;
    at.positive(run.series_bin, "run.series_bin")?;
    at.require(i64::try_from(run.seed).is_ok(), "run.seed", "larger than any seed", "it must be below 2^63")?;
    let bins = run.duration.0.as_nanos() / run.series_bin.0.as_nanos();
    let flows: u64 = scenario.flow.len() as u64;
    let help = format!("{bins} bins per flow are too many; widen the bins or shorten the run");
    at.require(
        bins.saturating_mul(flows.max(1)) <= BINS_MAX,
        "run.series_bin",
        "too fine for so long a run",
        &help,
    )
}

fn internet(internet: &Internet, at: &Place<'_>) -> Checked {
    if !internet.rate_steps.is_sorted_by_key(|step| step.at.0) {
        at.fail("internet.rate_steps", "not in the order of time", "sort them by `at`")?;
    }
    if internet.trace.is_some() {
        let help = "a delivery trace says when packets leave; leave one of them out";
        at.require(internet.rate_steps.is_empty(), "internet.rate_steps", "of no use with a trace", help)?;
        at.require(internet.hold.is_empty(), "internet.hold", "of no use with a trace", help)?;
    }
    Ok(())
}

/// What a wired network cannot have; asked before anything is filled in.
pub(crate) fn wired(tree: &Tree) -> Checked {
    let at = Place { tree };
    let has =
        [("cell", "no cell"), ("ue", "no UE"), ("channel", "no radio channel"), ("backhaul", "no backhaul")];
    let Some((key, what)) = has.into_iter().find(|(key, _)| tree.get(key).is_some_and(|t| !t.is_empty()))
    else {
        return Ok(());
    };
    let help = "it is server, link ([internet]) and host; for a cell, choose network = \"typical\"";
    at.fail(key, format!("a wired network has {what}"), help)
}

fn cellular(scenario: &Resolved, at: &Place<'_>) -> Checked {
    at.require(!scenario.cell.is_empty(), "cell", "no cell", "add [[cell]] with a name")?;
    at.require(scenario.cell.len() <= CELLS_MAX, "cell", "too many cells", "at most 1000")?;
    at.require(!scenario.ue.is_empty(), "ue", "no UE", "add [[ue]] with a name and a position")?;
    let mut names = BTreeSet::new();
    for (i, c) in scenario.cell.iter().enumerate() {
        let key = format!("cell.{i}");
        name(&c.name, &mut names, &format!("{key}.name"), at)?;
        cell(c, &key, at)?;
    }
    names.clear();
    let mut total = 0;
    for (i, u) in scenario.ue.iter().enumerate() {
        let key = format!("ue.{i}");
        name(&u.name, &mut names, &format!("{key}.name"), at)?;
        total += u64::from(u.count);
        let within = u.count >= 1 && total <= UES_MAX;
        at.require(
            within,
            &format!("{key}.count"),
            &format!("{total} UEs in all"),
            "from 1 to 10000 in all",
        )?;
        ue(u, &key, scenario, at)?;
    }
    for u in scenario.ue.iter().filter(|u| u.count > 1) {
        if let Some(k) = (1..=u.count).find(|k| names.contains(&format!("{}-{k}", u.name))) {
            let taken = format!("{}-{k}", u.name);
            let i = scenario.ue.iter().position(|other| other.name == taken).expect("just found");
            let message = format!("also the name of UE {k} of the group {:?}", u.name);
            at.fail(&format!("ue.{i}.name"), message, "choose another name")?;
        }
    }
    if let Some(channel) = &scenario.channel
        && let PathLoss::LogDistance(p) = &channel.path_loss
    {
        let key = "channel.path_loss";
        at.require(
            p.exponent >= 0.0 && p.exponent <= 10.0,
            &format!("{key}.exponent"),
            "no path-loss exponent",
            "from 0 to 10",
        )?;
        at.require(
            p.reference_distance.0 > 0.0,
            &format!("{key}.reference_distance"),
            "no distance",
            "above 0 m",
        )?;
    }
    Ok(())
}

/// A name is there, is short, is not a number (which a path would take for an index), and is
/// not taken.
fn name(name: &str, taken: &mut BTreeSet<String>, key: &str, at: &Place<'_>) -> Checked {
    let fits = !name.is_empty()
        && name.len() <= 64
        && name.chars().all(|c| c.is_alphanumeric() || "-_/ ".contains(c));
    at.require(fits, key, "not a name", "letters, digits, space, -, _ and /, at most 64")?;
    at.require(name.parse::<u64>().is_err(), key, "a number, not a name", "begin with a letter")?;
    at.require(taken.insert(name.to_owned()), key, "used twice", "give each its own name")
}

fn cell(cell: &Cell, key: &str, at: &Place<'_>) -> Checked {
    let blocks = RESOURCE_BLOCKS.contains(&cell.resource_blocks);
    at.require(
        blocks,
        &format!("{key}.resource_blocks"),
        "no bandwidth of LTE",
        "6, 15, 25, 50, 75 or 100 (1.4, 3, 5, 10, 15 or 20 MHz)",
    )?;
    if let crate::format::Scheduler::ProportionalFair(pf) = &cell.scheduler {
        let ok = (1..=1_000_000).contains(&pf.window);
        at.require(ok, &format!("{key}.scheduler.window"), "no averaging window", "from 1 to 1000000 slots")?;
    }
    mac(&cell.mac, cell.resource_blocks, &format!("{key}.mac"), at)?;
    match &cell.uplink {
        Uplink::SchedulingRequest(u) => {
            let key = format!("{key}.uplink");
            at.slots(u.scheduling_request_period, &format!("{key}.scheduling_request_period"), 1)?;
            at.slots(u.processing, &format!("{key}.processing"), 0)?;
            let grant = (1..=1500).contains(&u.initial_grant.0.get());
            at.require(
                grant,
                &format!("{key}.initial_grant"),
                "no size for a first grant",
                "from 1 B to 1500 B",
            )?;
        }
        Uplink::IdealBufferStatus(u) => at.slots(u.report_delay, &format!("{key}.uplink.report_delay"), 0)?,
    }
    let (bits, known): (u8, &[u8]) = match &cell.rlc {
        Rlc::Am(am) => (am.sn_bits, &[10, 16]), // TS 36.322 §6.2.1.4
        Rlc::Um(um) => (um.sn_bits, &[5, 10]),  // TS 36.322 §6.2.1.3
    };
    let help = format!("one of {known:?}");
    at.require(
        known.contains(&bits),
        &format!("{key}.rlc.sn_bits"),
        "no length of a sequence number",
        &help,
    )?;
    let bits = [7, 12, 15, 18].contains(&cell.pdcp.sn_bits); // TS 36.323 §6.3.2
    at.require(
        bits,
        &format!("{key}.pdcp.sn_bits"),
        "no length of a sequence number",
        "one of [7, 12, 15, 18]",
    )?;
    let (Rlc::Am(crate::format::RlcAm { buffer, .. }) | Rlc::Um(crate::format::RlcUm { buffer, .. })) =
        &cell.rlc;
    buffer_size(*buffer, &format!("{key}.rlc.buffer"), at)
}

fn buffer_size(size: Size, key: &str, at: &Place<'_>) -> Checked {
    at.require(size.0.get() >= 1500, key, "no full packet fits", "at least 1500 B")
}

fn mac(mac: &Mac, resource_blocks: u16, key: &str, at: &Place<'_>) -> Checked {
    at.slots(mac.cqi_period, &format!("{key}.cqi_period"), 1)?;
    at.slots(mac.cqi_delay, &format!("{key}.cqi_delay"), 0)?;
    at.slots(mac.harq_round_trip, &format!("{key}.harq_round_trip"), 1)?;
    at.slots(mac.downlink_latency, &format!("{key}.downlink_latency"), 1)?;
    at.slots(mac.grant_to_pusch, &format!("{key}.grant_to_pusch"), 1)?;
    at.slots(mac.sounding_period, &format!("{key}.sounding_period"), 1)?;
    let attempts = (1..=28).contains(&mac.harq_transmissions); // maxHARQ-Tx, TS 36.331 §6.3.2
    at.require(attempts, &format!("{key}.harq_transmissions"), "no number of transmissions", "from 1 to 28")?;
    let in_time = mac.harq_round_trip >= mac.downlink_latency;
    at.require(
        in_time,
        &format!("{key}.harq_round_trip"),
        "before the block was received",
        "at least mac.downlink_latency",
    )?;
    let grants = (1..=110).contains(&mac.grants_per_slot);
    at.require(grants, &format!("{key}.grants_per_slot"), "no number of grants", "from 1 to 110")?;
    let pucch = mac.pucch_resource_blocks < resource_blocks;
    at.require(
        pucch,
        &format!("{key}.pucch_resource_blocks"),
        "leaves nothing for data",
        "below resource_blocks",
    )
}

fn ue(ue: &Ue, key: &str, scenario: &Resolved, at: &Place<'_>) -> Checked {
    match (&ue.position, &ue.placement) {
        (None, None) => at.fail(
            key,
            "nowhere",
            "add position = [\"100 m\", \"0 m\"] or placement = { kind = \"disc\", radius = \"250 m\" }",
        )?,
        (Some(_), Some(_)) => {
            at.fail(&format!("{key}.placement"), "position is given already", "leave one of them out")?
        }
        (None, Some(crate::format::Placement::Disc(disc))) => {
            at.distance(disc.radius, &format!("{key}.placement.radius"))?
        }
        (Some(_), None) => {}
    }
    if let Some(cell) = &ue.cell
        && !scenario.cell.iter().any(|c| c.name == *cell)
    {
        let names: Vec<_> = scenario.cell.iter().map(|c| c.name.as_str()).collect();
        at.fail(&format!("{key}.cell"), "no cell of that name", nearest_help(cell, &names))?;
    }
    let key = format!("{key}.mobility");
    match &ue.mobility {
        Mobility::Static => Ok(()),
        Mobility::LevyWalk(walk) => {
            levy_walk(walk, &key, at)?;
            walk_contains_start(ue, walk, &key, scenario, at)
        }
    }
}

fn levy_walk(walk: &crate::format::LevyWalk, key: &str, at: &Place<'_>) -> Checked {
    let (flight, pause) = (&walk.flight, &walk.pause);
    let laws = [
        ("flight", flight.exponent, [flight.scale.0, flight.min.0, flight.max.0]),
        ("pause", pause.exponent, [pause.scale, pause.min, pause.max].map(|t| t.0.as_secs_f64())),
    ];
    for (law, exponent, [scale, min, max]) in laws {
        let key = format!("{key}.{law}");
        let ok = exponent > 0.0 && exponent <= 2.0; // those of a stable law
        at.require(ok, &format!("{key}.exponent"), "no exponent of a stable law", "above 0, at most 2")?;
        at.require(scale > 0.0, &format!("{key}.scale"), "nothing", "it must be above zero")?;
        at.require(min > 0.0, &format!("{key}.min"), "nothing", "it must be above zero")?;
        at.require(max > min, &format!("{key}.max"), "not above `min`", "it must be above `min`")?;
        // The law draws until a value lies between its cuts.
        let likely = max >= scale / 100.0 && min <= scale * 100.0 && max >= 1.01 * min;
        let help = "widen them, or bring them nearer to the scale";
        at.require(likely, &key, "hardly any of the law lies between min and max", help)?;
    }
    at.require(walk.radius.0 > 0.0, &format!("{key}.radius"), "no room to walk", "above 0 m")
}

/// A walk begins inside its disc, wherever in its placement the UE is put.
fn walk_contains_start(
    ue: &Ue,
    walk: &crate::format::LevyWalk,
    key: &str,
    scenario: &Resolved,
    at: &Place<'_>,
) -> Checked {
    let home = scenario.cell[crate::radio::serving_cell(ue, scenario)].position;
    let (start, reach) = match (&ue.position, &ue.placement) {
        (Some(position), _) => (*position, 0.0),
        (None, Some(crate::format::Placement::Disc(disc))) => (disc.centre.unwrap_or(home), disc.radius.0),
        (None, None) => return Ok(()),
    };
    let centre = walk.centre.unwrap_or(home);
    let (dx, dy) = (start[0].0 - centre[0].0, start[1].0 - centre[1].0);
    let far = (dx * dx + dy * dy).sqrt() + reach;
    let help = format!("the UE may start {far} m from its centre");
    at.require(far <= walk.radius.0, &format!("{key}.radius"), "the walk does not contain its start", &help)
}

fn flows(scenario: &Resolved, at: &Place<'_>) -> Checked {
    at.require(!scenario.flow.is_empty(), "flow", "no flow: nothing would happen", "add [[flow]]")?;
    let mut names = BTreeSet::new();
    let mut total = 0;
    for (i, flow) in scenario.flow.iter().enumerate() {
        let key = format!("flow.{i}");
        if let Some(n) = &flow.name {
            name(n, &mut names, &format!("{key}.name"), at)?;
        }
        total += u64::from(crate::expand::reach(flow, scenario).map_or(1, |r| r.count()));
        at.require(total <= FLOWS_MAX, &key, &format!("{total} flows in all"), "at most 10000")?;
        destination(flow, &key, scenario, at)?;
        if let Some(stop) = flow.stop {
            at.require(
                stop > flow.start,
                &format!("{key}.stop"),
                "before it starts",
                "it must be above `start`",
            )?;
        }
        transport(flow, &key, at)?;
    }
    // A run may be shorter than the scenario was meant to be, but not so short.
    let idle = scenario.flow.iter().all(|flow| flow.start >= scenario.run.duration);
    at.require(
        !idle,
        "flow.0.start",
        "the run is over before any flow starts",
        "it must be below run.duration",
    )?;
    let all = crate::expand::flows(scenario);
    let mut seen = BTreeSet::new();
    if let Some(twice) = all.iter().find(|f| !seen.insert(f.name.as_str())) {
        let key = format!("flow.{}", twice.section);
        at.fail(&key, format!("two flows would be called {:?}", twice.name), "give them other names")?;
    }
    Ok(())
}

fn destination(flow: &Flow, key: &str, scenario: &Resolved, at: &Place<'_>) -> Checked {
    if scenario.network == Network::Wired {
        let ok = flow.to.as_deref().is_none_or(|to| to == "host");
        return at.require(ok, &format!("{key}.to"), "a wired network has one host", "leave it out");
    }
    let names: Vec<_> = scenario.ue.iter().map(|u| u.name.as_str()).collect();
    let Some(to) = &flow.to else {
        return at.fail(
            key,
            "`to` is missing",
            format!("add to = \"{}\"", names.first().unwrap_or(&"phone")),
        );
    };
    if crate::expand::reach(flow, scenario).is_none() {
        return at.fail(&format!("{key}.to"), "no UE of that name", nearest_help(to, &names));
    }
    Ok(())
}

fn transport(flow: &Flow, key: &str, at: &Place<'_>) -> Checked {
    match (&flow.app, &flow.transport) {
        (App::Cbr(cbr), Transport::Udp) => {
            let ok = (1..=IP_PACKET_MAX - 28).contains(&cbr.payload.0.get());
            at.require(ok, &format!("{key}.app.payload"), "no payload of a packet", "from 1 B to 65507 B")?;
        }
        (App::Cbr(_), Transport::Tcp(_)) => {
            let help = "use transport = \"udp\", or app = \"bulk\"";
            at.fail(&format!("{key}.app"), "TCP sends at no rate of the application's", help)?;
        }
        (App::Bulk | App::Fixed(_), Transport::Udp) => {
            at.fail(
                &format!("{key}.app"),
                "UDP has no rate of its own",
                "use app = { kind = \"cbr\", rate = \"10 Mbit/s\" }",
            )?;
        }
        (App::Fixed(fixed), Transport::Tcp(_)) => {
            at.require(
                fixed.size.0.get() > 0,
                &format!("{key}.app.size"),
                "nothing to send",
                "at least 1 B",
            )?;
        }
        (App::Bulk, Transport::Tcp(_)) => {}
    }
    let Transport::Tcp(tcp) = &flow.transport else { return Ok(()) };
    let key = format!("{key}.transport");
    let mtu = (MTU_MIN..=IP_PACKET_MAX).contains(&tcp.mtu.0.get());
    at.require(mtu, &format!("{key}.mtu"), "no MTU", "from 128 B to 65535 B")?;
    let headers = 40 + if tcp.timestamps { 12 } else { 0 };
    if let Some(mss) = tcp.mss {
        let size = mss.0.get() + headers;
        let ok = size >= MTU_MIN && size <= tcp.mtu.0.get();
        at.require(
            ok,
            &format!("{key}.mss"),
            "does not fit into the MTU",
            "mtu less 40 B of headers (52 B with timestamps), or less",
        )?;
    }
    at.require(
        (1..=1_000).contains(&tcp.initial_window),
        &format!("{key}.initial_window"),
        "no window",
        "from 1 to 1000 segments",
    )?;
    at.positive(tcp.rto_min, &format!("{key}.rto_min"))?;
    at.positive(tcp.rto_initial, &format!("{key}.rto_initial"))?;
    at.require(
        tcp.rto_max >= tcp.rto_min && tcp.rto_max >= tcp.rto_initial,
        &format!("{key}.rto_max"),
        "below the floor",
        "at least rto_min and rto_initial",
    )?;
    let least = Size(tcp.mtu.0);
    match &tcp.receive_window {
        crate::format::ReceiveWindow::Fixed(w) => {
            at.require(
                w.size >= least,
                &format!("{key}.receive_window.size"),
                "no full segment fits",
                "at least the MTU",
            )?;
        }
        crate::format::ReceiveWindow::Autotuned(w) => {
            at.require(
                w.initial >= least,
                &format!("{key}.receive_window.initial"),
                "no full segment fits",
                "at least the MTU",
            )?;
            at.require(
                w.max >= w.initial,
                &format!("{key}.receive_window.max"),
                "below `initial`",
                "at least `initial`",
            )?;
        }
    }
    if let Some(buffer) = tcp.send_buffer {
        at.require(
            buffer >= least,
            &format!("{key}.send_buffer"),
            "no full segment fits",
            "at least the MTU",
        )?;
    }
    Ok(())
}

/// A trace is named from where the scenario file is; from here on it is named from where we are.
pub(crate) fn locate_trace(scenario: &mut Resolved, tree: &Tree, file: &str) -> Checked {
    let Some(trace) = &mut scenario.internet.trace else { return Ok(()) };
    let path = Path::new(file).parent().unwrap_or(Path::new("")).join(trace.as_str());
    if !path.is_file() {
        let help = format!("looked for {}", path.display());
        return Place { tree }.fail("internet.trace", "no such file", help);
    }
    if let Some(path) = path.to_str() {
        path.clone_into(trace);
    }
    Ok(())
}
