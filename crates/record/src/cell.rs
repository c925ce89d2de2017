//! The sums for one cell, and for one UE's radio.

use airlane_core::{Decibel, Direction, Instant};

use crate::meaning::View;
use crate::table::{Table, direction_name, ratio};
use crate::{CellDescription, RecorderParameters};

/// The counted properties of a transport block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) mcs: u8,
    pub(crate) prbs: u16,
    pub(crate) bytes: u64,
    pub(crate) attempt: u8,
    pub(crate) decoded: bool,
    pub(crate) power_limited: bool,
}

/// Transport blocks of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) prbs: u64,
    /// Blocks sent for the first time, and the sum of their MCS.
    pub(crate) new: u64,
    pub(crate) mcs_sum: u64,
    /// New blocks that were not decoded.
    new_failed: u64,
    pub(crate) retransmissions: u64,
    /// Blocks that were given up.
    failed: u64,
    pub(crate) decoded_bytes: u64,
    /// Transmissions with the UE's maximum power, which is less than power control asked for.
    pub(crate) limited: u64,
}

impl Blocks {
    #[inline]
    pub(crate) fn add(&mut self, block: &Block, transmissions_max: u8) {
        self.prbs += u64::from(block.prbs);
        self.limited += u64::from(block.power_limited);
        if block.attempt == 0 {
            self.new += 1;
            self.mcs_sum += u64::from(block.mcs);
            self.new_failed += u64::from(!block.decoded);
        } else {
            self.retransmissions += 1;
        }
        if block.decoded {
            self.decoded_bytes += block.bytes;
        } else if block.attempt + 1 >= transmissions_max {
            self.failed += 1;
        }
    }

    pub(crate) fn transmissions(&self) -> u64 {
        self.new + self.retransmissions
    }

    pub(crate) fn mcs_mean(&self) -> f64 {
        ratio(self.mcs_sum as f64, self.new)
    }
}

/// Both directions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Radio {
    pub(crate) downlink: Blocks,
    pub(crate) uplink: Blocks,
}

impl Radio {
    #[inline]
    pub(crate) fn of(&mut self, direction: Direction) -> &mut Blocks {
        match direction {
            Direction::Downlink => &mut self.downlink,
            Direction::Uplink => &mut self.uplink,
        }
    }

    pub(crate) fn in_direction(&self, direction: Direction) -> &Blocks {
        match direction {
            Direction::Downlink => &self.downlink,
            Direction::Uplink => &self.uplink,
        }
    }
}

/// The sums of one cell.
#[derive(Debug)]
pub(crate) struct CellRecord {
    pub(crate) description: CellDescription,
    /// Inside the measured window.
    measured: Radio,
    /// In the current bin of the series.
    pub(crate) bin: Radio,
    /// Power headroom reports inside the measured window.
    pub(crate) headroom: Headroom,
}

/// The sum of reported power headrooms.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Headroom {
    sum_db: f64,
    reports: u64,
}

impl Headroom {
    pub(crate) fn add(&mut self, headroom: Decibel) {
        self.sum_db += headroom.0;
        self.reports += 1;
    }

    /// The mean in dB.
    pub(crate) fn mean_db(&self) -> f64 {
        ratio(self.sum_db, self.reports)
    }
}

impl CellRecord {
    pub(crate) fn new(description: CellDescription) -> Self {
        Self { description, measured: Radio::default(), bin: Radio::default(), headroom: Headroom::default() }
    }

    #[inline]
    pub(crate) fn add(&mut self, direction: Direction, block: &Block, measured: bool) {
        let transmissions_max = self.description.harq_transmissions;
        self.bin.of(direction).add(block, transmissions_max);
        if measured {
            self.measured.of(direction).add(block, transmissions_max);
        }
    }

    /// The share of the resource blocks of `[from, until)`, in slots of the direction, that were used.
    pub(crate) fn prb_use(&self, radio: &Radio, direction: Direction, from: Instant, until: Instant) -> f64 {
        let [downlink, uplink, all] = self.description.pattern;
        let (per_slot, used) = match direction {
            Direction::Downlink => (self.description.downlink_prbs, downlink),
            Direction::Uplink => (self.description.uplink_prbs, uplink),
        };
        let slots = until.saturating_since(from).as_nanos() as f64 / self.description.slot.as_nanos() as f64;
        let slots = slots * f64::from(used) / f64::from(all);
        radio.in_direction(direction).prbs as f64 / (f64::from(per_slot) * slots)
    }
}

/// The table `uplink_power`: one row per UE with uplink transmissions inside `[warm-up, end]`.
pub(crate) fn power_table<'a>(
    ues: impl Iterator<Item = (&'a str, &'a Radio, &'a Headroom)> + Clone,
) -> Table {
    let rows = || ues.clone().filter(|(_, radio, _)| radio.uplink.transmissions() > 0);
    let mut table = Table::default();
    table.push_text("ue", rows().map(|(name, ..)| name)).means("UE");
    let sent = rows().map(|(_, radio, _)| radio.uplink.transmissions());
    table.push_count("tb_sent_uplink", sent).means("transport blocks sent");
    let limited = |(_, radio, _): (&str, &Radio, &Headroom)| {
        ratio(radio.uplink.limited as f64, radio.uplink.transmissions())
    };
    let limited = table.push_f64("power_limited", rows().map(limited));
    limited.means("share of uplink transmissions that were limited by power");
    let headroom = table.push_f64("headroom_db", rows().map(|(.., headroom)| headroom.mean_db()));
    headroom.means("mean of the power headroom reports");
    table
}

/// The table `cells`: one row per cell, inside `[warm-up, end]`.
pub(crate) fn table(cells: &[CellRecord], parameters: &RecorderParameters) -> Table {
    let mut table = Table::default();
    let (from, until) = (parameters.warmup, parameters.end);
    table.push_text("cell", cells.iter().map(|cell| cell.description.name.as_str())).means("cell");
    for (direction, heading) in
        [(Direction::Downlink, "PRB use\ndownlink"), (Direction::Uplink, "PRB use\nuplink")]
    {
        let prb_use = |cell: &CellRecord| cell.prb_use(&cell.measured, direction, from, until);
        let name = direction_name(direction);
        let column = table.push_f64(&format!("prb_use_{name}"), cells.iter().map(prb_use));
        column.means(format!("share of the {name} PRBs in use")).headed(heading, ".1%");
        column.shown(if direction == Direction::Downlink { 10 } else { 20 }, &[View::Terminal]);
    }
    push_blocks(&mut table, cells, Direction::Downlink);
    push_blocks(&mut table, cells, Direction::Uplink);
    let limited = |cell: &CellRecord| {
        let uplink = cell.measured.in_direction(Direction::Uplink);
        ratio(uplink.limited as f64, uplink.transmissions())
    };
    let limited = table.push_f64("power_limited", cells.iter().map(limited));
    limited.means("share of uplink transmissions that were limited by power");
    let headroom = table.push_f64("headroom_db", cells.iter().map(|cell| cell.headroom.mean_db()));
    headroom.means("mean of the power headroom reports").headed("head-\nroom dB", ".1f");
    headroom.shown(120, &[View::Terminal]).omitted(2);
    if cells.iter().any(|cell| cell.description.bler_target.is_some()) {
        let target = |cell: &CellRecord| cell.description.bler_target.unwrap_or(f64::NAN);
        let target = table.push_f64("bler_target", cells.iter().map(target));
        target.means("error rate of first transmissions that the outer loop aims at");
        target.headed("BLER\ntarget", ".1%").shown(80, &[View::Terminal]).omitted(1);
    }
    table
}

/// The columns of the transport blocks of a direction. Those without a suffix are for the downlink.
fn push_blocks(table: &mut Table, cells: &[CellRecord], direction: Direction) {
    let down = direction == Direction::Downlink;
    let (suffix, words) = if down { ("", "") } else { ("_uplink", ", uplink") };
    let blocks = || cells.iter().map(|cell| cell.measured.in_direction(direction));
    let first = |b: &Blocks| ratio(b.new_failed as f64, b.new);
    let mcs = table.push_f64(&format!("mcs_mean{suffix}"), blocks().map(Blocks::mcs_mean));
    mcs.means(format!("mean MCS of first transmissions{words}"));
    mcs.headed(if down { "MCS" } else { "uplink\nMCS" }, ".1f")
        .shown(if down { 30 } else { 90 }, &[View::Terminal]);
    let sent = table.push_count(&format!("tb_sent{suffix}"), blocks().map(Blocks::transmissions));
    sent.means(format!("transport blocks sent{words}"));
    if down {
        sent.headed("transport\nblocks", ",.0f").shown(40, &[View::Terminal]).omitted(5);
    }
    let again = table.push_count(&format!("harq_retx{suffix}"), blocks().map(|b| b.retransmissions));
    again.means(format!("HARQ retransmissions{words}"));
    if down {
        again.headed("HARQ\nretx", ",.0f").shown(50, &[View::Terminal]);
    }
    let failed = table.push_count(&format!("harq_failed{suffix}"), blocks().map(|b| b.failed));
    failed.means(format!("transport blocks given up{words}"));
    failed.headed(if down { "HARQ\nfailed" } else { "uplink\nfailed" }, ",.0f");
    failed.shown(if down { 60 } else { 100 }, &[View::Terminal]).omitted(if down { 4 } else { 3 });
    let errors = table.push_f64(&format!("bler_first{suffix}"), blocks().map(first));
    errors.means(format!("share of first transmissions that failed{words}"));
    errors.headed(if down { "first\nBLER" } else { "uplink\nBLER" }, ".2%");
    errors.shown(if down { 70 } else { 110 }, &[View::Terminal]);
}
