//! A run: from its start to its tables.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use airlane_core::{DropCause, Duration, Instant, Probe, Seeds};
use airlane_engine::Simulation;
use airlane_quic::QlogError;
use airlane_record::{Capture, CaptureError, CaptureParameters, Sinks, Table};
use airlane_scenario::Files;
use airlane_scenario::ScenarioError;
use airlane_scenario::format::{self, App, Middlebox, Resolved, Rtc, RtcController, Transport};
use airlane_scenario::{Extensions, applications, expand, middlebox};
use serde::Serialize;

use crate::construction::Construction;
use crate::counts::HandoverCounts;
use crate::wiring::{Places, Proxies, Wired};
use crate::{bearers, energy, fusing, proxies, sinks, wiring};

/// The interval of virtual time after which writing errors of captures are checked.
const STRIDE: Duration = Duration::from_millis(100);

/// A run that is ready to begin.
pub struct Built {
    pub(crate) simulation: Simulation,
    pub(crate) places: Places,
    pub(crate) construction: Construction,
    proxies: Proxies,
    proxy_names: Vec<String>,
    pub(crate) sinks: Sinks,
    pub(crate) capture: Option<CaptureParameters>,
    end: Instant,
    /// Whether a PEP sends messages to servers.
    pub(crate) has_pep: bool,
    /// Whether a split proxy reads the segments of connections.
    pub(crate) has_split: bool,
    /// The bytes of one packet.
    pub(crate) scratch: Vec<u8>,
    pub(crate) threads: usize,
}

/// The output of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutput {
    /// Tables by name: `flows`, `cells`, `timeouts`, and the series.
    pub tables: Vec<(&'static str, Table)>,
    /// Summary of the run.
    pub meta: Meta,
}

/// Summary of a run. It repeats exactly, as the tables do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Meta {
    /// Virtual seconds.
    pub sim_s: f64,
    /// Timers that fired and called their node.
    pub events: u64,
    /// Timers put into the wheel.
    pub timers: u64,
    /// Packets transferred from one node to the next.
    pub hops: u64,
    /// Packets created by endpoints.
    pub packets: u64,
    /// Packets delivered to their destination.
    pub delivered: u64,
    /// Packets dropped, by cause.
    pub drops: Drops,
    /// Packets under way at the end.
    pub under_way: u64,
    /// True if every packet created was delivered, dropped, or is held by exactly one node.
    pub conserved: bool,
    /// Numbers of handovers, if handover is enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handovers: Option<HandoverCounts>,
}

/// Packets dropped, by cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drops(pub [u64; DropCause::COUNT]);

impl Serialize for Drops {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(DropCause::NAMES.iter().zip(&self.0))
    }
}

/// Builds the network of a scenario, with all random streams from `seed`.
///
/// # Errors
/// If a file that the scenario names cannot be read, or the scenario needs a user's own controller or scheduler
/// policy.
pub fn build(scenario: &Resolved, seed: u64) -> Result<Built, ScenarioError> {
    build_with(scenario, seed, &Extensions::default())
}

/// The same with a user's own controllers and scheduler policies.
///
/// # Errors
/// If a file that the scenario names cannot be read, or it names a controller or a policy that is not in `extensions`.
pub fn build_with(scenario: &Resolved, seed: u64, extensions: &Extensions) -> Result<Built, ScenarioError> {
    build_from(scenario, seed, extensions, &Files::Disk)
}

/// The same with a given source of the files that the scenario names.
///
/// # Errors
/// If a file that the scenario names cannot be read, or it names a controller or a policy that is not in `extensions`.
pub fn build_from(
    scenario: &Resolved,
    seed: u64,
    extensions: &Extensions,
    files: &Files,
) -> Result<Built, ScenarioError> {
    check_extensions(scenario, extensions)?;
    let (ues, flows) = (expand::ues(scenario), expand::flows(scenario));
    let construction = Construction {
        given: scenario.clone(),
        scenario: scenario.clone(),
        seeds: Seeds::new(seed),
        qlog: scenario.output.qlog.then(Arc::default),
        contents: applications::contents(scenario, &flows, files)?,
        extensions: extensions.clone(),
        files: files.clone(),
        present: flows.iter().map(|flow| flow.ue).map(Some).collect(),
        ues: ues.len(),
        removed_ues: vec![],
    };
    let Wired { simulation, proxies, places } = wiring::wire(construction.setup())?;
    let bearers = bearers::of(&simulation, &places, &flows);
    Ok(Built {
        simulation,
        places,
        proxies,
        proxy_names: middlebox::proxy_names(scenario),
        sinks: sinks::sinks(
            scenario,
            &ues,
            &flows,
            applications::page_names(&construction.contents),
            bearers,
        ),
        capture: sinks::capture_parameters(scenario, &ues, &flows),
        construction,
        end: Instant::ZERO + scenario.run.duration.0,
        has_pep: scenario.middlebox.iter().any(|one| matches!(one, Middlebox::Pep(_))),
        scratch: Vec::new(),
        threads: 1,
        has_split: scenario.middlebox.iter().any(|one| matches!(one, Middlebox::SplitProxy(_))),
    })
}

/// All controllers and policies that the scenario names are there.
fn check_extensions(scenario: &Resolved, extensions: &Extensions) -> Result<(), ScenarioError> {
    let of_flows = scenario.flow.iter().enumerate().filter_map(|(i, flow)| match &flow.transport {
        Transport::Tcp(tcp) => Some((format!("flow.{i}.transport"), &tcp.controller)),
        Transport::Quic(quic) => Some((format!("flow.{i}.transport"), &quic.controller)),
        Transport::Kernel(kernel) => {
            kernel.peer.as_ref().map(|tcp| (format!("flow.{i}.transport.peer"), &tcp.controller))
        }
        Transport::Mptcp(mptcp) => Some((format!("flow.{i}.transport.tcp"), &mptcp.tcp.controller)),
        Transport::Mpquic(mpquic) => Some((format!("flow.{i}.transport.quic"), &mpquic.quic.controller)),
        Transport::Udp(_) | Transport::Icmp | Transport::External => None,
    });
    let of_proxies = scenario.middlebox.iter().enumerate().flat_map(|(i, one)| match one {
        Middlebox::SplitProxy(proxy) => {
            let controllers = [("core", &proxy.core.controller), ("ran", &proxy.ran.controller)];
            controllers.map(|(leg, named)| (format!("middlebox.{i}.{leg}"), named)).to_vec()
        }
        Middlebox::Pep(_) => vec![],
    });
    let Extensions { controllers, rate_controllers, schedulers, path_schedulers } = extensions;
    for (place, named) in of_flows.chain(of_proxies) {
        if let Some(name) = named {
            let (place, base) = (format!("{place}.controller"), "airlane.Controller");
            check_controller(place, name, (controllers, base), rate_controllers)?;
        }
    }
    for (i, flow) in scenario.flow.iter().enumerate() {
        if let App::Rtc(Rtc { controller: RtcController::Own(own), .. }) = &flow.app {
            let (place, base) = (format!("flow.{i}.app.controller.name"), "airlane.CallController");
            check_controller(place, &own.name, (rate_controllers, base), controllers)?;
        }
    }
    for (i, flow) in scenario.flow.iter().enumerate() {
        if let Transport::Mptcp(format::Mptcp { policy: Some(name), .. }) = &flow.transport
            && !path_schedulers.contains_key(name)
        {
            let none = format!(
                "derive its class from airlane.PathScheduler, and add --controller {name}=FILE.py:CLASS"
            );
            let help = known(path_schedulers).unwrap_or(none);
            return Err(unknown(format!("flow.{i}.transport.policy"), name, "unknown scheduler", help));
        }
    }
    for (i, cell) in scenario.cell.iter().enumerate() {
        if let format::Scheduler::Own(format::OwnPolicy { policy }) = &cell.scheduler
            && !schedulers.contains_key(policy)
        {
            let none = "a policy of your own comes from a program in Rust: docs/howto/scheduler.md";
            let help = known(schedulers).unwrap_or_else(|| none.to_owned());
            let place = format!("cell.{i}.scheduler.policy");
            return Err(unknown(place, policy, "unknown scheduler policy", help));
        }
    }
    Ok(())
}

/// The controller of this name is there. `of_kind` has the controllers for such flows, and the class in Python that they
/// derive from; `others` those for other flows.
fn check_controller<T, U>(
    place: String,
    name: &str,
    (of_kind, base): (&BTreeMap<String, T>, &str),
    others: &BTreeMap<String, U>,
) -> Result<(), ScenarioError> {
    if of_kind.contains_key(name) {
        return Ok(());
    }
    let help = if others.contains_key(name) {
        format!("derive its class from {base}")
    } else {
        known(of_kind).unwrap_or_else(|| {
            format!("add --controller {name}=FILE.py:CLASS, or run(controllers={{\"{name}\": ...}})")
        })
    };
    Err(unknown(place, name, "unknown controller", help))
}

/// The names that there are, if there are any.
fn known<T>(parts: &BTreeMap<String, T>) -> Option<String> {
    let names: Vec<&str> = parts.keys().map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("known: {}", names.join(", ")))
}

fn unknown(place: String, name: &str, message: &str, help: String) -> ScenarioError {
    let mut error = ScenarioError::new(place, message, help);
    error.value = format!("\"{name}\"").into();
    error
}

/// Builds and runs a scenario.
///
/// # Errors
/// If a file that the scenario names cannot be read.
pub fn run(scenario: &Resolved, seed: u64) -> Result<RunOutput, ScenarioError> {
    scenario.with_flows()?;
    scenario.without_kernels("use the crate airlane-guest, or transport = \"tcp\"")?;
    let mut built = build(scenario, seed)?;
    let ended = built.run(&AtomicBool::new(false));
    assert!(ended, "no caller can have cancelled it");
    Ok(built.finish())
}

impl Built {
    /// Enables the captures and qlog files of the scenario, in files whose names begin with `prefix`.
    /// Without this call, a run captures nothing.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn capture_to(&mut self, prefix: &str) -> Result<(), CaptureError> {
        if let Some(parameters) = &self.capture {
            self.sinks.capture = Some(Capture::create(prefix, parameters)?);
        }
        if let Some(qlog) = &self.construction.qlog {
            qlog.write_to(prefix);
        }
        Ok(())
    }

    /// Captures packets in memory, at the points that the scenario names: [`Built::take_captures`]
    /// returns them.
    pub fn capture_to_memory(&mut self) {
        self.sinks.capture = self.capture.as_ref().map(Capture::in_memory);
    }

    /// Takes the captures in memory: file names and contents.
    #[must_use]
    pub fn take_captures(&mut self) -> Vec<(String, Vec<u8>)> {
        self.sinks.capture.take().map(Capture::into_memory).unwrap_or_default()
    }

    /// Whether anything may have happened, or been changed.
    fn has_begun(&self) -> bool {
        self.simulation.now() > Instant::ZERO
            || self.simulation.pool().inserted() > 0
            || self.construction.has_changed()
    }

    /// Runs to the end. Returns false if `cancel` became true before, or a capture could not be
    /// written, which [`Built::end_capture`] reports.
    pub fn run(&mut self, cancel: &AtomicBool) -> bool {
        self.run_and_tell(cancel, |_| ())
    }

    /// The same. `progress` receives the simulated share of the run, from 0 to 1, after each 100 ms of simulated time.
    pub fn run_and_tell(&mut self, cancel: &AtomicBool, mut progress: impl FnMut(f64) + Send) -> bool {
        self.fuse();
        self.on_threads(|run| run.run_to_end(cancel, |run| progress(run.simulated_share())))
    }

    /// The same. `rows` receives rows of long tables during the run, by the names of the tables, at least this many of one at
    /// once, so that they need not be in memory together ([`Recorder::take_rows`]); [`Self::finish`] returns the others.
    ///
    /// [`Recorder::take_rows`]: airlane_record::Recorder::take_rows
    pub fn run_and_pass_on(
        &mut self,
        cancel: &AtomicBool,
        mut progress: impl FnMut(f64) + Send,
        (least, mut rows): (usize, impl FnMut(&'static str, Table) + Send),
    ) -> bool {
        self.fuse();
        self.on_threads(|run| {
            run.run_to_end(cancel, |run| {
                let taken = run.sinks.recorder.take_rows(least);
                taken.into_iter().for_each(|(name, table)| rows(name, table));
                progress(run.simulated_share());
            })
        })
    }

    fn simulated_share(&self) -> f64 {
        self.simulation.now().as_secs_f64() / self.end.as_secs_f64()
    }

    /// Calls `stride` after each 100 ms of simulated time.
    fn run_to_end(&mut self, cancel: &AtomicBool, mut stride: impl FnMut(&mut Self)) -> bool {
        while self.simulation.now() < self.end {
            let failed = self.sinks.capture.as_ref().is_some_and(Capture::has_failed)
                || self.construction.qlog.as_ref().is_some_and(|files| files.has_failed());
            if failed || !self.advance_unless(cancel, self.simulation.now() + STRIDE) {
                return false;
            }
            stride(self);
        }
        if let Err(conservation) = self.simulation.check_conservation() {
            panic!("packets are not conserved: {conservation}");
        }
        true
    }

    /// Makes one node of links in series where that changes no table, unless the run has begun. It is faster, but only
    /// for a caller of [`Self::advance`] that neither inspects nor changes the network before the end.
    pub fn fuse(&mut self) {
        if !self.has_begun() {
            fusing::fuse(&mut self.simulation, &self.places);
        }
    }

    /// Runs until `to`, or to the end if that is earlier: for callers with a clock of their own, or
    /// that inspect a run.
    pub fn advance(&mut self, to: Instant) {
        let ended = self.advance_unless(&AtomicBool::new(false), to);
        assert!(ended, "no caller can have cancelled it");
    }

    fn advance_unless(&mut self, cancel: &AtomicBool, to: Instant) -> bool {
        let to = to.min(self.end);
        let (simulation, probe) = self.observed();
        simulation.advance_unless(cancel, to, probe)
    }

    /// The simulation, and the observer for its calls.
    pub(crate) fn observed(&mut self) -> (&mut Simulation, &mut dyn Probe) {
        let alone = self.sinks.is_recorder_alone();
        let probe: &mut dyn Probe = if alone { &mut self.sinks.recorder } else { &mut self.sinks };
        (&mut self.simulation, probe)
    }

    /// Writes the rest of the captures.
    ///
    /// # Errors
    /// If any of it could not be written, now or during the run.
    pub fn end_capture(&mut self) -> Result<(), CaptureError> {
        self.sinks.finish_capture()?;
        let ended = self.construction.qlog.as_ref().map_or(Ok(()), |files| files.finish());
        ended.map_err(|QlogError { path, error }| CaptureError { path, error })
    }

    /// The planned end of the run, where [`Self::advance`] stops.
    #[must_use]
    pub const fn end(&self) -> Instant {
        self.end
    }

    /// The tables of a run, which ends now.
    #[must_use]
    pub fn finish(mut self) -> RunOutput {
        self.sinks.recorder.end_at(self.simulation.now());
        let (counters, pool) = (self.simulation.counters(), self.simulation.pool());
        let hosts = self.sinks.recorder.hosts().to_vec();
        let mut tables = self.sinks.recorder.finish();
        tables.extend(proxies::tables(&self.simulation, &self.proxies, &self.proxy_names));
        let energy = energy::table(&self.simulation, &self.places, &hosts);
        tables.extend(energy.map(|table| ("energy", table)));
        let meta = Meta {
            sim_s: self.simulation.now().as_secs_f64(),
            events: counters.events,
            timers: counters.timers_armed,
            hops: counters.packets,
            packets: pool.inserted(),
            delivered: pool.consumed(),
            drops: Drops(DropCause::ALL.map(|cause| pool.discarded(cause))),
            under_way: pool.live() as u64,
            conserved: self.simulation.check_conservation().is_ok(),
            handovers: HandoverCounts::of(&tables),
        };
        RunOutput { tables, meta }
    }
}
