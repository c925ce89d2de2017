//! A UE as the RAN sees it: its bearer, its channels, its CQI reports and its HARQ processes.

use std::collections::VecDeque;

use airlane_core::{Bytes, CellId, Dbm, Direction, Instant, Stream, UeId};
use airlane_radio::{Amc, Cqi, Mcs, Mobility};

use crate::bearer::RadioBearer;
use crate::channel::Channel;
use crate::config::{CellConfig, CqiReference, CqiReport, MacConfig, RankRule, SLOT};
use crate::interference::{Air, Moment, Neighbours};
use crate::mac::control;
use crate::mac::grid::{RbgSet, rbg_size};
use crate::mac::harq::HarqEntity;
use crate::mac::power::PuschPower;
use crate::mac::scheduler::MAX_RBGS;
use crate::rrc::measurement::MeasurementConfig;

/// A UE.
#[derive(Debug)]
pub(crate) struct Ue {
    pub(crate) id: UeId,
    pub(crate) cell: CellId,
    pub(crate) bearer: RadioBearer,
    pub(crate) mobility: Mobility,
    /// The cells that do not serve it.
    pub(crate) neighbours: Neighbours,
    pub(crate) downlink: DownlinkState,
    pub(crate) uplink: UplinkState,
}

/// The downlink side of a UE.
#[derive(Debug)]
pub(crate) struct DownlinkState {
    pub(crate) channel: Channel,
    pub(crate) cqi: CqiReports,
    pub(crate) harq: HarqEntity,
    /// Decides whether a block decodes.
    pub(crate) draws: Stream,
    /// Decides whether the UE misses what PDCCH says, in either direction.
    pub(crate) control_draws: Stream,
    /// Outer-loop correction in steps of MCS, for the rule that has one.
    pub(crate) outer_loop: f32,
    /// What its blocks are sent with whatever it reports.
    pub(crate) fixed_mcs: Option<Mcs>,
    /// It stands in its cell's list of UEs with something to send them.
    pub(crate) active: bool,
}

/// The uplink side of a UE, the eNB's view of it included.
#[derive(Debug)]
pub(crate) struct UplinkState {
    pub(crate) channel: Channel,
    pub(crate) harq: HarqEntity,
    /// Decides whether a block decodes.
    pub(crate) draws: Stream,
    /// The latest sounding.
    pub(crate) sounding: Sounding,
    /// Outer-loop correction in steps of MCS, for the rule that has one.
    pub(crate) outer_loop: f32,
    /// What it sends at.
    pub(crate) power: PuschPower,
    /// What the eNB believes to be waiting in the UE, less what it granted.
    pub(crate) known_backlog: u64,
    /// Bytes granted whose PUSCH is still to come.
    pub(crate) outstanding: u64,
    /// A scheduling request or a buffer status is on its way to the eNB.
    pub(crate) request_pending: bool,
    /// It stands in its cell's list of UEs that may send.
    pub(crate) active: bool,
}

impl Ue {
    /// Bytes waiting in the direction, control included.
    pub(crate) fn backlog(&self, direction: Direction, now: Instant) -> Bytes {
        self.bearer.buffer_status(direction, now).total()
    }

    /// The UE comes to `cell` with nothing but its bearer: the MAC is reset (TS 36.331 §5.3.5.4,
    /// TS 36.321 §5.9) and the channel to that cell is the one that counts.
    pub(crate) fn enter(&mut self, id: CellId, cell: &CellConfig) {
        let channels = [&mut self.downlink.channel, &mut self.uplink.channel];
        self.neighbours.exchange(self.cell, id, channels);
        self.cell = id;
        self.reset_mac(cell);
    }

    /// The MAC begins anew in its cell.
    pub(crate) fn reset_mac(&mut self, cell: &CellConfig) {
        let downlink = &mut self.downlink;
        downlink.cqi = CqiReports::of(cell, self.id.index());
        downlink.harq.flush();
        (downlink.outer_loop, downlink.active) = (0.0, false);
        let uplink = &mut self.uplink;
        uplink.power = uplink.power.moved_to(cell);
        uplink.sounding = Sounding::default();
        uplink.harq.flush();
        (uplink.outer_loop, uplink.active) = (0.0, false);
        (uplink.known_backlog, uplink.outstanding, uplink.request_pending) = (0, 0, false);
    }

    /// RSRP of every cell over the period that ends now, by their numbers. Of a cell so weak that it
    /// fulfils the leaving condition of the event however it fades, the mean before fading.
    pub(crate) fn measure_rsrp(&mut self, now: Instant, config: &MeasurementConfig, out: &mut [Dbm]) {
        let (mobility, mut common) = (&mut self.mobility, None);
        let when = (now, config.period, Dbm(f64::NEG_INFINITY));
        let serving = self.downlink.channel.rsrp_over(when, mobility, &mut common);
        out[self.cell.index()] = serving;
        let when = (now, config.period, serving + config.event.offset - config.event.hysteresis);
        for link in self.neighbours.links_mut() {
            out[link.cell.index()] = link.downlink.rsrp_over(when, mobility, &mut common);
        }
    }

    /// Linear SINR of a flat control region in which the UE would miss as much as in its own now.
    /// Where it can miss nothing, at least [`control::SAFE`].
    pub(crate) fn control_sinr(
        &mut self,
        now: Instant,
        (serving, air): (&CellConfig, &Air),
        scratch: &mut [f32],
    ) -> f32 {
        let channel = &mut self.downlink.channel;
        // PDCCH is never multiplexed over layers (TS 36.211 §6.8.4).
        let mean = channel.mean_sinr(now, &mut self.mobility) * serving.transmission_mode.one_layer_gain();
        let moment = Moment { now, fading: now };
        let noise = air.control_noise(self.cell, moment, (&mut self.neighbours, &mut self.mobility));
        if channel.is_flat() && noise.is_none() {
            return mean;
        }
        channel.sinr(now, mean, scratch);
        // Control is spread over the band: among several cells an RBG's middle speaks for it.
        let seen = match &noise {
            Some(noise) => noise.weakened_by_rbg(scratch),
            None => scratch,
        };
        if noise.is_some() && seen.iter().all(|sinr| *sinr >= control::SAFE) {
            return control::SAFE; // The effective SINR lies between them.
        }
        control::effective_sinr(seen)
    }

    /// The same before any fading.
    pub(crate) fn mean_control_sinr(&mut self, now: Instant, (serving, air): (&CellConfig, &Air)) -> f32 {
        let mobility = &mut self.mobility;
        let mean =
            self.downlink.channel.mean_sinr(now, mobility) * serving.transmission_mode.one_layer_gain();
        mean / air.mean_control_noise(self.cell, now, (&mut self.neighbours, mobility))
    }

    /// The SR opportunity of this UE within a period, spread over the UEs of the cell.
    pub(crate) fn scheduling_request_offset(&self, period: u32) -> u64 {
        u64::from(self.id.0 % period)
    }

    /// Measures what is due up to `slot` and makes the newest usable report the current one.
    pub(crate) fn measure_cqi(
        &mut self,
        slot: u64,
        (serving, air): (&CellConfig, &Air),
        amc: &Amc,
        scratch: &mut [f32],
    ) {
        let (cell, now) = (self.cell, Instant::ZERO + SLOT * slot);
        let (channel, cqi) = (&mut self.downlink.channel, &mut self.downlink.cqi);
        let mac = &serving.mac;
        let measurement = Measurement { serving, amc, points: cqi.rbg_size };
        let mean = channel.mean_sinr(now, &mut self.mobility);
        while let Some(measured) = cqi.next_due(slot, mac) {
            if channel.is_flat() && air.is_quiet() {
                cqi.push_flat(measured, mean, |sinr, out| measurement.report(sinr, out));
            } else {
                let moment = Moment { now, fading: Instant::ZERO + SLOT * measured };
                channel.sinr(moment.fading, mean, scratch);
                let others = (&mut self.neighbours, &mut self.mobility);
                let noise = match mac.cqi_reference {
                    // The last slot that has ended: this one's is not over.
                    CqiReference::PdschInterference => {
                        air.data_noise(cell, measured.saturating_sub(1), RbgSet::MAX, moment, others)
                    }
                    CqiReference::ControlRegion => air.control_noise(cell, moment, others),
                };
                if let Some(noise) = noise {
                    noise.weaken(scratch);
                }
                cqi.push(measured, |out| measurement.report(scratch, out));
            }
        }
        cqi.advance(slot, mac.cqi_delay);
    }
}

/// How a UE makes a report of what it measured.
struct Measurement<'a> {
    serving: &'a CellConfig,
    amc: &'a Amc,
    /// SINRs of a sub-band.
    points: usize,
}

impl Measurement<'_> {
    /// The CQI of each sub-band and the rank that they hold for, from the SINRs of a layer when
    /// all layers are sent.
    fn report(&self, sinr: &mut [f32], out: &mut [Cqi]) -> u8 {
        let mode = self.serving.transmission_mode;
        self.cqi(sinr, out);
        if mode.layers() == 1 || self.serving.mac.rank == RankRule::Full {
            return mode.layers();
        }
        let mut alone = [Cqi::OUT_OF_RANGE; MAX_RBGS];
        let alone = &mut alone[..out.len()];
        sinr.iter_mut().for_each(|sinr| *sinr *= mode.one_layer_gain());
        self.cqi(sinr, alone);
        if self.carried(alone) > u64::from(mode.layers()) * self.carried(out) {
            out.copy_from_slice(alone);
            return 1;
        }
        mode.layers()
    }

    /// Bytes that transport blocks of one sub-band each would carry.
    fn carried(&self, cqi: &[Cqi]) -> u64 {
        let in_range = cqi.iter().filter(|&&cqi| cqi != Cqi::OUT_OF_RANGE);
        in_range.map(|cqi| cqi.mcs().transport_block(self.points, Direction::Downlink).get()).sum()
    }

    /// The CQI of each sub-band, or that of the whole band for all of them.
    fn cqi(&self, sinr: &[f32], out: &mut [Cqi]) {
        match self.serving.mac.cqi_report {
            CqiReport::Subband => self.amc.subband_cqi(sinr, self.points, out),
            CqiReport::Wideband => out.fill(self.amc.wideband_cqi(sinr)),
        }
    }
}

/// What the eNB knows of a UE's uplink from its latest sounding.
#[derive(Debug, Default)]
pub(crate) struct Sounding {
    /// The slot in which it was made.
    pub(crate) at: Option<u64>,
    /// SINR of each PRB at full power over the band; one where they are alike.
    pub(crate) sinr: Vec<f32>,
    /// Mean of these before fading.
    pub(crate) mean: f32,
    /// For a PUSCH of so much power a PRB against that, the MCS; as they are met.
    pub(crate) chosen: Vec<(f32, Mcs)>,
}

/// Sub-band CQI of a UE: the report in force and those on their way to the scheduler.
#[derive(Debug)]
pub(crate) struct CqiReports {
    current: [Cqi; MAX_RBGS],
    subbands: usize,
    /// PRBs of a sub-band.
    rbg_size: usize,
    /// Layers that they hold for.
    rank: u8,
    pending: VecDeque<(u64, [Cqi; MAX_RBGS], u8)>,
    next: u64,
    offset: u64,
    flat: Option<(f32, Cqi, u8)>,
    valid: bool,
}

impl CqiReports {
    /// Reports of a UE to a cell.
    pub(crate) fn of(cell: &CellConfig, ue: usize) -> Self {
        let prbs = cell.resource_blocks;
        let rbg_size = rbg_size(prbs);
        let offset = ue as u64 % u64::from(cell.mac.cqi_period.max(1));
        Self::new(usize::from(prbs.div_ceil(rbg_size)), usize::from(rbg_size), offset)
    }

    fn new(subbands: usize, rbg_size: usize, offset: u64) -> Self {
        Self {
            current: [Cqi::OUT_OF_RANGE; MAX_RBGS],
            subbands,
            rbg_size,
            rank: 1,
            pending: VecDeque::with_capacity(16),
            next: offset,
            offset,
            flat: None,
            valid: false,
        }
    }

    /// The report in force, one CQI per sub-band; `None` until the first has arrived.
    pub(crate) fn current(&self) -> Option<&[Cqi; MAX_RBGS]> {
        self.valid.then_some(&self.current)
    }

    /// The rank of the report in force: how many layers to send.
    pub(crate) fn rank(&self) -> u8 {
        self.rank
    }

    /// The next slot whose measurement has to be made, if it is not after `slot`. Reports that
    /// nobody could have used any more are left out.
    fn next_due(&mut self, slot: u64, mac: &MacConfig) -> Option<u64> {
        if slot < self.next {
            return None;
        }
        let period = u64::from(mac.cqi_period.max(1));
        if slot >= self.next + period + u64::from(mac.cqi_delay) {
            let phase = self.offset % period;
            let usable = slot.saturating_sub(u64::from(mac.cqi_delay)).max(phase);
            self.next = self.next.max(usable - (usable - phase) % period);
        }
        (self.next <= slot).then(|| {
            let due = self.next;
            self.next += period;
            due
        })
    }

    fn push(&mut self, measured: u64, fill: impl FnOnce(&mut [Cqi]) -> u8) {
        let mut report = [Cqi::OUT_OF_RANGE; MAX_RBGS];
        let rank = fill(&mut report[..self.subbands]);
        self.pending.push_back((measured, report, rank));
    }

    fn push_flat(&mut self, measured: u64, mean_sinr: f32, fill: impl FnOnce(&mut [f32], &mut [Cqi]) -> u8) {
        let (cqi, rank) = match self.flat {
            Some((sinr, cqi, rank)) if sinr == mean_sinr => {
                if self.valid && self.pending.is_empty() && self.current[0] == cqi && self.rank == rank {
                    return;
                }
                (cqi, rank)
            }
            _ => {
                let mut one = [Cqi::OUT_OF_RANGE];
                let rank = fill(&mut [mean_sinr], &mut one);
                (one[0], rank)
            }
        };
        self.flat = Some((mean_sinr, cqi, rank));
        self.push(measured, |out| {
            out.fill(cqi);
            rank
        });
    }

    fn advance(&mut self, slot: u64, delay: u32) {
        while let Some((measured, report, rank)) = self.pending.front() {
            // The very first report stands in until it could have arrived: a UE that has
            // just connected has reported CQI in its connection set-up.
            if self.valid && measured + u64::from(delay) > slot {
                return;
            }
            (self.current, self.rank) = (*report, *rank);
            self.valid = true;
            self.pending.pop_front();
        }
    }
}
