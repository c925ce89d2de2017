//! A scenario at real speed, or the record of a live run at the speed at which it ran.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use airlane_core::Instant as Virtual;
use airlane_live::cell::Cell;
use airlane_live::ends::{EndId, end_of_host};
use airlane_live::flight::{Reader, Record};
use airlane_live::radio::{Every, Facts, Report};
use airlane_scenario::{RealEnd, Resolved, Scenario};
use serde::Deserialize;

use super::{Lost, Source, since_1970, text_of};

/// The MTU of a network without real ends.
const MTU: u16 = 1_500;

/// Reads a scenario, for a run without a planned end.
pub(super) fn read(path: &Path) -> Result<Resolved, String> {
    let name = path.display().to_string();
    let text = text_of(path, "a scenario in TOML")?;
    let scenario = Scenario::parse(&text, &name).and_then(|one| one.resolve()).map_err(|e| e.to_string())?;
    with_cell(&scenario, &name)?;
    let (endless, _) = scenario.for_real(&[], &[]).map_err(|e| e.to_string())?;
    Ok(endless)
}

fn with_cell(scenario: &Resolved, name: &str) -> Result<(), String> {
    match scenario.cell.is_empty() {
        true => Err(format!("{name}: the network is wired; choose a scenario with a cell")),
        false => Ok(()),
    }
}

/// The record of a live run, with its scenario and its ends.
pub(super) struct Recorded {
    scenario: Resolved,
    seed: u64,
    real: Vec<RealEnd>,
    open: Vec<EndId>,
    reader: Reader<BufReader<File>>,
}

/// The members of `manifest.json` that a repetition needs.
#[derive(Deserialize)]
struct Manifest {
    scenario: serde_json::Value,
    seeds: Vec<u64>,
}

/// The facts in `live.json`.
#[derive(Deserialize)]
struct LiveFacts {
    real: Vec<String>,
    keep: Vec<String>,
    #[serde(default)]
    hosts: BTreeMap<String, String>,
}

impl Recorded {
    /// Reads a result folder of `airlane live`.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        fn json<T: serde::de::DeserializeOwned>(folder: &Path, file: &str) -> Result<T, String> {
            let path = folder.join(file);
            let text = text_of(&path, "a result folder of airlane live")?;
            serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
        }
        let manifest: Manifest = json(folder, "manifest.json")?;
        let facts: LiveFacts = json(folder, "live.json")?;
        let name = folder.display().to_string();
        let whole = Resolved::from_json(&manifest.scenario.to_string()).map_err(|e| e.to_string())?;
        with_cell(&whole, &name)?;
        let (scenario, real) = whole.for_real(&facts.real, &facts.keep).map_err(|e| e.to_string())?;
        let seed = *manifest.seeds.first().ok_or_else(|| format!("{name}: its manifest has no seed"))?;
        let end_of = |end: &String| match end.as_str() {
            "server" => Some(0),
            _ => facts.real.iter().position(|one| one == end).map(|ue| 1 + ue),
        };
        let open = facts.hosts.keys().filter_map(end_of);
        let open = open.filter_map(|number| end_of_host(&real, number)).collect();
        let path = folder.join("flight");
        let file = File::open(&path).map_err(|e| {
            format!("{}: {e}; airlane live writes one unless --flight-mb is 0", path.display())
        })?;
        let reader = Reader::new(BufReader::new(file)).map_err(|e| format!("{}: {e}", path.display()))?;
        if reader.ues() != real.len() {
            return Err(format!("{}: it belongs to another run", path.display()));
        }
        Ok(Self { scenario, seed, real, open, reader })
    }
}

/// The run that is played.
enum PlayedRun {
    /// A run of a scenario, with the seed of the next run.
    Scenario(PathBuf, u64),
    /// A record.
    Replay(PathBuf),
}

/// A run that follows the clock.
pub(super) struct Played {
    played: PlayedRun,
    run: Option<Run>,
}

struct Run {
    cell: Cell,
    began: Instant,
    /// The rest of the record, and its next packet.
    record: Option<Reader<BufReader<File>>>,
    packet: Packet,
    /// The end of the record, when it is known.
    end: Option<Virtual>,
    /// Memory of packets that leave; they are discarded.
    left: Vec<u8>,
}

/// A packet that enters.
struct Packet {
    at: Virtual,
    end: EndId,
    gso: Option<u16>,
    bytes: Vec<u8>,
}

impl Played {
    pub(super) const fn scenario(path: PathBuf, seed: u64) -> Self {
        Self { played: PlayedRun::Scenario(path, seed), run: None }
    }

    pub(super) const fn replay(folder: PathBuf) -> Self {
        Self { played: PlayedRun::Replay(folder), run: None }
    }
}

impl Source for Played {
    fn begin(&mut self, every: Every) -> Result<Facts, Lost> {
        let lost = |why: String| Lost { why, again: None };
        let (scenario, seed, real, open, record) = match &mut self.played {
            PlayedRun::Scenario(path, next) => {
                let seed = *next;
                *next = next.wrapping_add(1);
                (read(path).map_err(lost)?, seed, vec![], vec![], None)
            }
            PlayedRun::Replay(folder) => {
                let Recorded { scenario, seed, real, open, reader } = Recorded::read(folder).map_err(lost)?;
                (scenario, seed, real, open, Some(reader))
            }
        };
        let mtu = record.as_ref().map_or(MTU, Reader::mtu);
        let mut cell = Cell::new(&scenario, seed, &real, mtu).map_err(|e| lost(e.to_string()))?;
        for end in open {
            cell.open_to(end).map_err(lost)?;
        }
        cell.inform(&scenario, &real, every);
        let packet = Packet { at: Virtual::ZERO, end: EndId::Server, gso: None, bytes: vec![] };
        let (began, epoch) = (Instant::now(), since_1970());
        let mut run = Run { cell, began, record, packet, end: None, left: vec![] };
        run.read();
        self.run = Some(run);
        Ok(Facts::new(&scenario, epoch))
    }

    fn next(&mut self) -> Result<Report, Lost> {
        let found = self.run.as_mut().and_then(Run::next);
        found.ok_or_else(|| match &self.played {
            PlayedRun::Scenario(..) => {
                Lost { why: "the run is at its end and begins again".to_owned(), again: Some(Duration::ZERO) }
            }
            PlayedRun::Replay(folder) => Lost {
                why: format!("source.replay = {}: the record has ended", folder.display()),
                again: None,
            },
        })
    }
}

impl Run {
    /// The next report; `None` at the end of the run.
    fn next(&mut self) -> Option<Report> {
        loop {
            if let Some(report) = self.cell.take_report() {
                return Some(report);
            }
            let due = self.cell.report_due()?;
            if self.end.is_some_and(|end| due > end) {
                return None;
            }
            // Packets that enter at the time of a report come after it.
            let enters = self.record.is_some() && self.packet.at < due;
            let next = if enters { self.packet.at } else { due };
            let at = self.began + Duration::from_nanos(next.as_nanos());
            thread::sleep(at.saturating_duration_since(Instant::now()));
            if enters {
                let Packet { at, end, gso, bytes } = &self.packet;
                self.cell.enter(*end, bytes, *gso, *at);
                self.read();
            } else {
                self.cell.advance(next);
            }
            while self.cell.leave(&mut self.left).is_some() {}
        }
    }

    /// Reads the next packet of the record.
    fn read(&mut self) {
        let Some(record) = &mut self.record else { return };
        let end = loop {
            match record.next_record() {
                Ok(Record::Entered { at, end, gso, bytes }) => {
                    self.packet = Packet { at, end, gso, bytes: bytes.to_vec() };
                    return;
                }
                Ok(Record::Left { .. }) => {}
                Ok(Record::Trailer(trailer)) => break trailer.end,
                Err(error) => {
                    tracing::warn!(%error, "the record is cut off");
                    break self.packet.at;
                }
            }
        };
        (self.record, self.end) = (None, Some(end));
    }
}
