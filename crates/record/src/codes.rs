//! The codes of ARWA receivers, and the reactions of their senders.

use airlane_core::Bytes;

use crate::table::{Table, ratio};

/// The codes of one flow in its measured window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Codes {
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
    pub(crate) fn on_sent(&mut self, case: u8, code: u8) {
        let case = usize::from(case - 1);
        self.sent[case] += 1;
        self.sums[case] += u64::from(code);
    }

    pub(crate) fn on_applied(&mut self, code: u8, [before, after]: [Bytes; 2]) {
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

/// The table `codes`.
pub(crate) fn table(flow_names: &[&str], flows: &[Codes]) -> Table {
    let mut table = Table::default();
    let all = || flows.iter();
    table.push_text("flow", flow_names.iter().copied());
    table.push_count("case_1", all().map(|c| c.sent[0]));
    table.push_count("case_2", all().map(|c| c.sent[1]));
    table.push_count("case_3", all().map(|c| c.sent[2]));
    for (case, name) in ["code_1_mean", "code_2_mean", "code_3_mean"].into_iter().enumerate() {
        table.push_f64(name, all().map(|c| ratio(c.sums[case] as f64, c.sent[case])));
    }
    table.push_count("cuts", all().map(|c| c.cuts));
    table.push_count("gains", all().map(|c| c.gains));
    table.push_count("bytes_cut", all().map(|c| c.bytes_cut));
    table.push_count("bytes_gained", all().map(|c| c.bytes_gained));
    table.push_f64("least_after_cut_bytes", all().map(|c| c.least.map_or(f64::NAN, |b| b as f64)));
    table
}
