//! The traffic of each real UE in bins of time.

use airlane_core::{Direction, Duration, Instant, Packet};
use airlane_record::{Column, Table};

use crate::ends::{EndId, Ends};

/// The length of a bin.
pub const BIN: Duration = Duration::from_millis(100);
/// Maximum number of bins of all UEs, 64 bytes each.
const BINS_MAX: usize = 1_000_000;

/// One direction within a bin.
#[derive(Clone, Copy, Debug, Default)]
struct DirectionBin {
    /// Payload bytes that left in this bin.
    payload: u64,
    /// The sum of the delays of the packets that left in this bin.
    delay_ns: u64,
    delay_max_ns: u64,
    /// Packets with a delay.
    delayed: u32,
    /// Packets that entered in this bin and did not leave (yet).
    missing: i32,
}

#[derive(Debug)]
pub(super) struct Series {
    /// For each UE the bins from time zero on.
    bins: Vec<Vec<[DirectionBin; 2]>>,
    /// Maximum number of bins of one UE.
    limit: usize,
}

/// The traffic of a UE in its last complete bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latest {
    /// The UE.
    pub ue: u16,
    /// Downlink and uplink goodput in Mbit/s.
    pub goodput_mbps: [f64; 2],
    /// Downlink and uplink one-way delay in ms: mean, `NaN` without packets.
    pub owd_ms: [f64; 2],
    /// Maximum, `NaN` without packets.
    pub owd_max_ms: [f64; 2],
}

impl DirectionBin {
    fn goodput_mbps(&self) -> f64 {
        (self.payload * 8_000) as f64 / BIN.as_nanos() as f64
    }

    fn owd_ms(&self) -> f64 {
        if self.delayed == 0 { f64::NAN } else { self.delay_ns as f64 / f64::from(self.delayed) / 1e6 }
    }

    fn owd_max_ms(&self) -> f64 {
        if self.delayed == 0 { f64::NAN } else { self.delay_max_ns as f64 / 1e6 }
    }
}

impl Series {
    pub(super) fn new(ues: usize) -> Self {
        Self { bins: vec![Vec::new(); ues], limit: BINS_MAX / ues.max(1) }
    }

    #[inline]
    pub(super) fn entered(&mut self, at: Instant, ue: u16, direction: Direction) {
        if let Some(bin) = self.bin(ue, at) {
            bin[direction as usize].missing += 1;
        }
    }

    #[inline]
    pub(super) fn left(
        &mut self,
        at: Instant,
        ue: u16,
        direction: Direction,
        packet: &Packet,
        travelled: bool,
    ) {
        if let Some(bin) = self.bin(ue, packet.sent_at) {
            bin[direction as usize].missing -= 1;
        }
        let delay = at.saturating_since(packet.sent_at).as_nanos();
        if let Some(bin) = self.bin(ue, at) {
            let bin = &mut bin[direction as usize];
            bin.payload += u64::from(packet.payload.len());
            if travelled {
                bin.delay_ns += delay;
                bin.delay_max_ns = bin.delay_max_ns.max(delay);
                bin.delayed += 1;
            }
        }
    }

    /// The bin of a time; none behind the limit.
    #[inline]
    fn bin(&mut self, ue: u16, at: Instant) -> Option<&mut [DirectionBin; 2]> {
        let index = (at.as_nanos() / BIN.as_nanos()) as usize;
        let bins = &mut self.bins[usize::from(ue)];
        if index >= bins.len() {
            if index >= self.limit {
                return None;
            }
            bins.resize(index + 1, Default::default());
        }
        Some(&mut bins[index])
    }

    pub(super) fn latest(&self, now: Instant) -> impl Iterator<Item = Latest> + use<'_> {
        let last = (now.as_nanos() / BIN.as_nanos()).checked_sub(1).map(|index| index as usize);
        self.bins.iter().zip(0..).map(move |(bins, ue)| {
            let directions = last.and_then(|last| bins.get(last)).copied().unwrap_or_default();
            Latest {
                ue,
                goodput_mbps: directions.map(|bin| bin.goodput_mbps()),
                owd_ms: directions.map(|bin| bin.owd_ms()),
                owd_max_ms: directions.map(|bin| bin.owd_max_ms()),
            }
        })
    }

    /// One row per UE and bin, up to the last bin with traffic of any UE.
    pub(super) fn table(&self, ends: &Ends) -> Table {
        let bins = self.bins.iter().map(Vec::len).max().unwrap_or(0);
        let empty = [DirectionBin::default(); 2];
        let of = |ue: usize, bin: usize| self.bins[ue].get(bin).unwrap_or(&empty);
        let rows: Vec<(usize, usize)> =
            (0..self.bins.len()).flat_map(|ue| (0..bins).map(move |bin| (ue, bin))).collect();
        let mut table = Table::default();
        let labels = (0..self.bins.len()).map(|ue| ends.host_name(EndId::Ue(ue as u16)).to_owned()).collect();
        table.push("ue", Column::Labels { labels, of: rows.iter().map(|(ue, _)| *ue as u32).collect() });
        let t_s = |bin: usize| (BIN.as_nanos() * bin as u64) as f64 / 1e9;
        table.push("t_s", Column::F64(rows.iter().map(|&(_, bin)| t_s(bin)).collect()));
        for (direction, name) in ["downlink", "uplink"].into_iter().enumerate() {
            let mut push = |column: &str, value: fn(&DirectionBin) -> f64| {
                let values = rows.iter().map(|&(ue, bin)| value(&of(ue, bin)[direction])).collect();
                table.push(&format!("{name}_{column}"), Column::F64(values));
            };
            push("goodput_mbps", DirectionBin::goodput_mbps);
            push("owd_ms", DirectionBin::owd_ms);
            push("owd_max_ms", DirectionBin::owd_max_ms);
            let lost =
                rows.iter().map(|&(ue, bin)| i64::from(of(ue, bin)[direction].missing.max(0))).collect();
            table.push(&format!("{name}_packets_lost"), Column::I64(lost));
        }
        table
    }
}
