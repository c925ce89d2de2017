//! The buffer levels of split-connection proxies, bin by bin.

use std::collections::BTreeMap;

use airlane_core::{Bytes, Direction, Duration, Event, Instant, Topic, TopicSet};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
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
pub(crate) struct ProxySeries {
    /// The names of proxies and of flows by their number.
    proxies: Vec<String>,
    flows: Vec<String>,
    bin: Duration,
    bin_end: Instant,
    held: BTreeMap<(u32, u32), Held>,
    t_s: Vec<f64>,
    proxy: Vec<u32>,
    flow: Vec<u32>,
    /// In the order of [`ProxySeries::BYTES`].
    bytes: [Vec<u64>; Self::BYTES.len()],
}

impl ProxySeries {
    const BYTES: [(&'static str, &'static str); 4] = [
        ("downlink_buffer_bytes", "bytes in the downlink buffers at the end of the bin"),
        ("downlink_buffer_peak_bytes", "maximum in the downlink buffers within the bin"),
        ("uplink_buffer_bytes", "bytes in the uplink buffers at the end of the bin"),
        ("uplink_buffer_peak_bytes", "maximum in the uplink buffers within the bin"),
    ];

    /// Empty buffers.
    fn new(proxies: Vec<String>, flows: Vec<String>, bin: Duration) -> Self {
        Self {
            proxies,
            flows,
            bin,
            bin_end: Instant::ZERO + bin,
            held: BTreeMap::new(),
            t_s: Vec::new(),
            proxy: Vec::new(),
            flow: Vec::new(),
            bytes: core::array::from_fn(|_| Vec::new()),
        }
    }

    /// The buffer of a proxy for a flow (two indices) and a direction has changed.
    fn on_buffer(&mut self, now: Instant, of: (u32, u32), direction: Direction, [before, held]: [Bytes; 2]) {
        self.close_bins(now);
        let entry = self.held.entry(of).or_default();
        let at = direction as usize;
        entry.now[at] = entry.now[at] + held.get() - before.get();
        entry.peak[at] = entry.peak[at].max(entry.now[at]);
    }

    /// The table `proxy_series`: a row for each bin, proxy and flow, while the buffer is not empty, in a run until `end`.
    fn table(mut self, end: Instant) -> Table {
        self.close_bins(end);
        let mut table = Table::default();
        table.push("t_s", Column::F64(self.t_s)).means("beginning of the bin");
        table.push("proxy", Column::labels(&self.proxies, self.proxy)).means("proxy");
        table.push("flow", Column::labels(&self.flows, self.flow)).means("flow");
        for ((name, title), values) in Self::BYTES.into_iter().zip(self.bytes) {
            table.push_count(name, values).means(title);
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

impl Log for ProxySeries {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        let (bin, proxies) = (parameters.bin?, &parameters.proxies);
        (!proxies.is_empty()).then(|| Self::new(proxies.clone(), parameters.flow_names(), bin))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Proxy)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        if let Event::ProxyBuffer { proxy, flow, direction, before, now: held } = *event {
            self.on_buffer(now, (proxy, flow.0), direction, [before, held]);
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        self.flows = parameters.flow_names();
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("proxy_series", self.table(run.parameters.end))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_a_bin_ended_with_and_the_most_in_it() {
        let (bin, end) = (Duration::from_millis(100), Instant::from_millis(400));
        let mut series = ProxySeries::new(vec!["gateway".to_owned()], vec!["a".to_owned()], bin);
        for (ms, before, now) in [(10, 0, 500), (20, 0, 300), (30, 500, 100), (250, 100, 0), (260, 300, 0)] {
            let bytes = [Bytes(before), Bytes(now)];
            series.on_buffer(Instant::from_millis(ms), (0, 0), Direction::Downlink, bytes);
        }
        let table = series.table(end);
        assert_eq!(table.column("t_s"), Some(&Column::F64(vec![0.0, 0.1, 0.2])));
        assert_eq!(table.column("downlink_buffer_bytes"), Some(&Column::I64(vec![400, 400, 0])));
        assert_eq!(table.column("downlink_buffer_peak_bytes"), Some(&Column::I64(vec![800, 400, 400])));
    }
}
