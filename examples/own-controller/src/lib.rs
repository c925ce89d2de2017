//! A congestion controller of your own in Rust, over TCP and QUIC: a window of the delivery rate times the minimum
//! round trip, and a quarter more.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use airlane_assembly::build_with;
use airlane_record::{Column, Table};
use airlane_scenario::controller::{
    AckSample, BitRate, CongestionController, DeliverySample, Duration, LossCause, LossEpisode,
    MakeController, Needs, OwnController, OwnControllers, SegmentWindow,
};
use airlane_scenario::{Extensions, Scenario, ScenarioError};

/// Keeps 1.25 times the path's bandwidth-delay product in flight, and paces at the delivery rate.
#[derive(Clone, Debug, Default)]
pub struct Steady {
    /// The highest delivery rate so far, in segments per second.
    segments_per_second: f64,
    least_rtt: Option<Duration>,
    rate: Option<BitRate>,
}

impl CongestionController for Steady {
    fn needs(&self) -> Needs {
        Needs::PATH_MODEL
    }

    /// Not called: [`Needs::PATH_MODEL`] asks for [`Self::on_delivery`] instead.
    fn on_ack(&mut self, _: &mut SegmentWindow, _: &AckSample) {}

    fn on_delivery(&mut self, window: &mut SegmentWindow, sample: &DeliverySample) {
        self.least_rtt = self.least_rtt.into_iter().chain(sample.rtt).min();
        if let Some(rate) = sample.rate {
            let measured = rate.delivered as f64 / rate.interval.as_secs_f64();
            self.segments_per_second = self.segments_per_second.max(measured);
        }
        let Some(rtt) = self.least_rtt.filter(|_| self.segments_per_second > 0.0) else { return };
        let product = self.segments_per_second * rtt.as_secs_f64();
        window.segments = ((1.25 * product) as u32).max(10);
        let bits = self.segments_per_second * f64::from(window.segment_size()) * 8.0;
        self.rate = Some(BitRate((1.25 * bits) as u64));
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.segments
    }

    /// The model does not depend on losses.
    fn on_loss(&mut self, _: &mut SegmentWindow, _: &LossEpisode, _: LossCause) {}

    fn on_recovery_exit(&mut self, _: &mut SegmentWindow) {}

    fn pacing_rate(&self) -> Option<BitRate> {
        self.rate
    }
}

impl OwnController for Steady {
    fn clone_box(&self) -> Box<dyn OwnController> {
        Box::new(self.clone())
    }
}

/// Makes the controller of each connection.
#[derive(Debug)]
struct MakeSteady;

impl MakeController for MakeSteady {
    fn make(&self, _: &SegmentWindow) -> Box<dyn OwnController> {
        Box::new(Steady::default())
    }
}

/// A download over a link of 15 Mbit/s with a round trip of 40 ms and 0.5 % random loss.
const SCENARIO: &str = r#"
network = "wired"
[run]
duration = "20 s"
warmup = "5 s"
[internet]
rate = "15 Mbit/s"
delay = "20 ms"
queue = "75 kB"
loss = "0.5 %"
[[flow]]
name = "bulk"
"#;

/// Goodput in Mbit/s and mean round trip in ms, over this transport as scenarios name it.
///
/// # Errors
/// If the transport is invalid.
pub fn download(transport: &str) -> Result<[f64; 2], ScenarioError> {
    let text = format!("{SCENARIO}transport = {transport}\n");
    let scenario = Scenario::parse(&text, "lossy.toml")?.resolve()?;
    let steady = OwnControllers(Arc::new(MakeSteady));
    let own = Extensions { controllers: [("steady".to_owned(), steady)].into(), ..Extensions::default() };
    let mut built = build_with(&scenario, 1, &own)?;
    built.run(&AtomicBool::new(false));
    let output = built.finish();
    let flows = output.tables.iter().find(|(name, _)| *name == "flows");
    Ok(flows.map(|(_, flows)| ["goodput_mbps", "rtt_ms"].map(|name| first(flows, name))).unwrap_or_default())
}

fn first(table: &Table, name: &str) -> f64 {
    match table.columns.iter().find(|(column, _)| column == name) {
        Some((_, Column::F64(values))) => values[0],
        _ => f64::NAN,
    }
}

/// The download with CUBIC and with this controller, as a table.
///
/// # Errors
/// If a transport is invalid.
pub fn comparison() -> Result<String, ScenarioError> {
    let mut text = String::from("transport   congestion   Mbit/s   RTT ms\n");
    for kind in ["tcp", "quic"] {
        for (name, law) in
            [("cubic", "congestion = \"cubic\""), ("steady", "congestion = \"own\", controller = \"steady\"")]
        {
            let [goodput, rtt] = download(&format!("{{ kind = \"{kind}\", {law} }}"))?;
            text += &format!("{kind:11} {name:12} {goodput:6.2} {rtt:8.1}\n");
        }
    }
    Ok(text)
}
