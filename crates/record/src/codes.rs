//! The codes of ARWA receivers, and the reactions of their senders.

use airlane_core::{Bytes, Event, Instant, Topic, TopicSet};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::{Table, ratio};

/// The codes of one flow in its measured window.
#[derive(Clone, Copy, Debug, Default)]
struct Codes {
    /// By case of the rule, 1 to 3.
    sent: [u64; 3],
    /// Sum of the codes, by case.
    sums: [u64; 3],
    cuts: u64,
    gains: u64,
    bytes_cut: u64,
    bytes_gained: u64,
    /// The smallest window after a reduction.
    least: Option<u64>,
}

impl Codes {
    fn on_sent(&mut self, case: u8, code: u8) {
        let case = usize::from(case - 1);
        self.sent[case] += 1;
        self.sums[case] += u64::from(code);
    }

    fn on_applied(&mut self, code: u8, [before, after]: [Bytes; 2]) {
        if code > 100 {
            self.gains += 1;
            self.bytes_gained += after.saturating_sub(before).get();
        } else {
            self.cuts += 1;
            self.bytes_cut += before.saturating_sub(after).get();
            self.least = Some(self.least.map_or(after.get(), |least| least.min(after.get())));
        }
    }
}

/// The codes of each flow.
#[derive(Debug, Default)]
pub(crate) struct CodeLog(Vec<Codes>);

/// The table `codes`.
fn table(flow_names: &[&str], flows: &[Codes]) -> Table {
    let mut table = Table::default();
    let all = || flows.iter();
    table.push_text("flow", flow_names.iter().copied()).means("flow");
    table
        .push_count("case_1", all().map(|c| c.sent[0]))
        .means("codes of case 1: delay raised tenfold or more");
    table
        .push_count("case_2", all().map(|c| c.sent[1]))
        .means("codes of case 2: delay raised by 43 % or more");
    table
        .push_count("case_3", all().map(|c| c.sent[2]))
        .means("codes of case 3: delay raised by less than a quarter");
    for (case, name) in ["code_1_mean", "code_2_mean", "code_3_mean"].into_iter().enumerate() {
        let mean = table.push_f64(name, all().map(|c| ratio(c.sums[case] as f64, c.sent[case])));
        mean.means(format!("mean of the codes of case {}", case + 1));
    }
    table.push_count("cuts", all().map(|c| c.cuts)).means("codes that reduced the window");
    table.push_count("gains", all().map(|c| c.gains)).means("codes that raised the window");
    table.push_count("bytes_cut", all().map(|c| c.bytes_cut)).means("sum of the reductions of the window");
    table
        .push_count("bytes_gained", all().map(|c| c.bytes_gained))
        .means("sum of the increases of the window");
    table
        .push_f64("least_after_cut_bytes", all().map(|c| c.least.map_or(f64::NAN, |b| b as f64)))
        .means("smallest window after a reduction");
    table
}

impl Log for CodeLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        let flows = parameters.flows.len();
        parameters.codes.then(|| Self(vec![Codes::default(); flows]))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::ReceiverCode)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, flows: &Flows) {
        let (Event::CodeSent { flow, .. } | Event::CodeApplied { flow, .. }) = *event else { return };
        let Some(codes) = self.0.get_mut(flow.index()).filter(|_| flows.measures(flow, now)) else { return };
        match *event {
            Event::CodeSent { case, code, .. } => codes.on_sent(case, code),
            Event::CodeApplied { code, congestion_window, .. } => codes.on_applied(code, congestion_window),
            _ => {}
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        self.0.resize(parameters.flows.len(), Codes::default());
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("codes", table(&run.flow_names(), &self.0))]
    }
}
