//! Views of a run that is under way: they change no result, and show the state that the tables have.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use airlane_assembly::{RunOutput, UeLook, build};
use airlane_core::{Bytes, Duration, Event, Instant, Probe, Topic, TopicSet, UeId};
use airlane_record::{Column, Table};
use airlane_scenario::{Resolved, Scenario};

/// Time, UEs, and the queues of the internet link.
type Seen = (Instant, Vec<UeLook>, Option<[Bytes; 2]>);

const SHORT: Duration = Duration::from_millis(1_500);

fn scenarios() -> Vec<(String, Resolved)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let load = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut scenario = Scenario::parse(&text, path.to_str().unwrap()).unwrap();
        let mut tracked = scenario.clone();
        tracked.set("run.ue_series", &true.into()).unwrap();
        if tracked.resolve().is_ok() {
            scenario = tracked; // a wired scenario has no UEs
        }
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), scenario.resolve().unwrap())
    };
    let mut found: Vec<_> = files.map(load).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn bytes(output: &RunOutput) -> Vec<u8> {
    let mut bytes = format!("{:?}", output.meta).into_bytes();
    for (name, table) in &output.tables {
        table.write_bytes(name, &mut bytes).unwrap();
    }
    bytes
}

fn table<'a>(output: &'a RunOutput, name: &str) -> &'a Table {
    &output.tables.iter().find(|(table, _)| *table == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// An observer that counts transport blocks.
struct Blocks(Arc<AtomicU64>);

impl Probe for Blocks {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::TransportBlock)
    }

    fn observe(&mut self, _: Instant, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn looking_changes_no_result() {
    let (mut looks, mut links, mut observed) = (0, 0, 0);
    let scenarios = scenarios();
    assert!(scenarios.len() >= 29, "only {} scenarios", scenarios.len());
    for (name, scenario) in scenarios {
        let ues: Vec<UeId> = match scenario.channel {
            Some(_) => (0..scenario.ue_names().len() as u32).map(UeId).collect(),
            None => vec![],
        };
        let mut run = |looks: &mut Vec<Seen>, watched: bool| {
            let mut run = build(&scenario, 1).unwrap();
            let blocks = Arc::new(AtomicU64::new(0));
            if watched {
                run.observe(Box::new(Blocks(blocks.clone())));
            }
            for step in 1..=SHORT.as_millis() / 5 {
                run.advance(Instant::from_millis(5 * step));
                if watched {
                    let records = run.radio_information();
                    assert_eq!(records.len(), ues.len());
                    for (ue, record) in ues.iter().zip(&records) {
                        let look = run.look(*ue).unwrap();
                        assert_eq!((record.cell, record.queue), (look.cell.0, look.queue_downlink), "{name}");
                        assert_eq!(record.measured_at, run.now());
                        assert!(look.cqi.is_none_or(|cqi| cqi == record.cqi), "{name}: {look:?} {record:?}");
                    }
                    let seen = ues.iter().map(|ue| run.look(*ue).unwrap()).collect();
                    looks.push((run.now(), seen, run.internet_queues()));
                }
            }
            assert_eq!(run.look(UeId(ues.len() as u32)), None);
            observed += blocks.load(Ordering::Relaxed);
            bytes(&run.finish())
        };
        let (mut seen, mut none) = (vec![], vec![]);
        let [watched, alone] = [run(&mut seen, true), run(&mut none, false)];
        assert!(watched == alone, "{name}: looking at it changes its results");
        looks += seen.iter().map(|(_, ues, _)| ues.len()).sum::<usize>();
        links += seen.iter().filter(|(.., queues)| queues.is_some_and(|[down, _]| down.get() > 0)).count();
        for (at, ues, _) in &seen {
            for ue in ues {
                assert!(ue.cqi.is_none_or(|cqi| cqi <= 15), "{name} {at}: {ue:?}");
                assert!(ue.mcs_downlink.is_none_or(|mcs| mcs <= 28), "{name} {at}: {ue:?}");
            }
        }
    }
    println!("{looks} looks at UEs, {links} at links with a queue");
    assert!(looks > 20_000 && links > 500 && observed > 20_000, "{looks} {links} {observed}");
}

/// Where a UE is, its cell, and the bytes that wait for it are those of the series.
#[test]
fn a_look_is_the_state_of_the_series() {
    let (_, scenario) = scenarios().into_iter().find(|(name, _)| name == "lte-drive").unwrap();
    let bin = scenario.run.series_bin.0;
    let mut run = build(&scenario, 1).unwrap();
    let mut seen = vec![];
    // Rows of positions are for the start of a bin.
    for step in 0..40 {
        run.advance(Instant::ZERO + bin * step);
        seen.push(run.look(UeId(0)).unwrap());
    }
    let output = run.finish();
    let series = table(&output, "ue_series");
    let Some(Column::F64(x)) = series.column("x_m") else { panic!("no positions") };
    assert!(seen.len() == x.len() && seen.iter().zip(x).all(|(look, x)| look.position_m[0] == *x));
    assert!(x.windows(2).all(|pair| pair[0] != pair[1]), "it moves");
    let known = seen.iter().filter(|look| look.cqi.is_some_and(|cqi| cqi > 0)).count();
    let sent = seen.iter().filter(|look| look.mcs_downlink.is_some()).count();
    let waits = seen.iter().filter(|look| look.queue_downlink.get() > 0).count();
    assert!(known > 30 && sent > 30 && waits > 20, "{known} {sent} {waits}: {seen:?}");
}
