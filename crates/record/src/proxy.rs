//! The buffer levels of split-connection proxies, bin by bin.

use std::collections::BTreeMap;

use airlane_core::{Duration, Event, Instant, Probe, Topic, TopicSet};

use crate::table::{Column, Table};

/// The connections of one flow in one proxy. Arrays are downlink, uplink.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    now: [u64; 2],
    /// The maximum since the start of the bin.
    peak: [u64; 2],
}

/// Observes the buffers of proxies.
#[derive(Debug)]
pub struct ProxySeries {
    /// The names of proxies and of flows by their number.
    proxies: Vec<String>,
    flows: Vec<String>,
    bin: Duration,
    bin_end: Instant,
    end: Instant,
    held: BTreeMap<(u32, u32), Held>,
    t_s: Vec<f64>,
    proxy: Vec<u32>,
    flow: Vec<u32>,
    /// In the order of [`ProxySeries::BYTES`].
    bytes: [Vec<u64>; Self::BYTES.len()],
}

impl ProxySeries {
    const BYTES: [&'static str; 4] = [
        "downlink_buffer_bytes",
        "downlink_buffer_peak_bytes",
        "uplink_buffer_bytes",
        "uplink_buffer_peak_bytes",
    ];

    /// Empty buffers, in a run until `end`.
    #[must_use]
    pub fn new(proxies: Vec<String>, flows: Vec<String>, bin: Duration, end: Instant) -> Self {
        Self {
            proxies,
            flows,
            bin,
            bin_end: Instant::ZERO + bin,
            end,
            held: BTreeMap::new(),
            t_s: Vec::new(),
            proxy: Vec::new(),
            flow: Vec::new(),
            bytes: core::array::from_fn(|_| Vec::new()),
        }
    }

    /// Logs flows that were added behind all others.
    pub fn extend(&mut self, flows: Vec<String>) {
        self.flows = flows;
    }

    /// Ends the run at `end`, if that is before its planned end.
    pub fn end_at(&mut self, end: Instant) {
        self.end = self.end.min(end);
    }

    /// The table `proxy_series`: a row for each bin, proxy and flow, while the buffer is not empty.
    #[must_use]
    pub fn finish(mut self) -> Table {
        self.close_bins(self.end);
        let mut table = Table::default();
        table.push("t_s", Column::F64(self.t_s));
        table.push("proxy", Column::labels(&self.proxies, self.proxy));
        table.push("flow", Column::labels(&self.flows, self.flow));
        for (name, values) in Self::BYTES.into_iter().zip(self.bytes) {
            table.push_count(name, values);
        }
        table
    }

    fn close_bins(&mut self, now: Instant) {
        while now >= self.bin_end {
            let from = self.bin_end - self.bin;
            for ((proxy, flow), held) in &mut self.held {
                if held.peak == [0; 2] {
                    continue;
                }
                self.t_s.push(from.as_secs_f64());
                self.proxy.push(*proxy);
                self.flow.push(*flow);
                let bytes = [held.now[0], held.peak[0], held.now[1], held.peak[1]];
                self.bytes.iter_mut().zip(bytes).for_each(|(column, value)| column.push(value));
                held.peak = held.now;
            }
            self.bin_end += self.bin;
        }
    }
}

impl Probe for ProxySeries {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Proxy)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        let Event::ProxyBuffer { proxy, flow, direction, before, now: held } = *event else { return };
        self.close_bins(now);
        let entry = self.held.entry((proxy, flow.0)).or_default();
        let at = direction as usize;
        entry.now[at] = entry.now[at] + held.get() - before.get();
        entry.peak[at] = entry.peak[at].max(entry.now[at]);
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{Bytes, Direction, FlowId};

    use super::*;

    #[test]
    fn a_row_says_what_a_bin_ended_with_and_the_most_in_it() {
        let (bin, end) = (Duration::from_millis(100), Instant::from_millis(400));
        let mut series = ProxySeries::new(vec!["gateway".to_owned()], vec!["a".to_owned()], bin, end);
        for (ms, before, now) in [(10, 0, 500), (20, 0, 300), (30, 500, 100), (250, 100, 0), (260, 300, 0)] {
            let (before, now) = (Bytes(before), Bytes(now));
            let direction = Direction::Downlink;
            let event = Event::ProxyBuffer { proxy: 0, flow: FlowId(0), direction, before, now };
            series.observe(Instant::from_millis(ms), &event);
        }
        let table = series.finish();
        assert_eq!(table.column("t_s"), Some(&Column::F64(vec![0.0, 0.1, 0.2])));
        assert_eq!(table.column("downlink_buffer_bytes"), Some(&Column::I64(vec![400, 400, 0])));
        assert_eq!(table.column("downlink_buffer_peak_bytes"), Some(&Column::I64(vec![800, 400, 400])));
    }
}
