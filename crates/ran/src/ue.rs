//! A UE in the RAN: its bearers, its channels, its CQI reports and its HARQ processes.

use airlane_core::{Bytes, CellId, Dbm, Direction, Duration, Instant, Stream, UeId};
use airlane_radio::{Mcs, Mobility};

use crate::bearers::Bearers;
use crate::channel::Channel;
use crate::config::CellConfig;
use crate::cqi::CqiReports;
use crate::interference::{Air, Moment, Neighbours, PLACES};
use crate::mac::control;
use crate::mac::harq::HarqEntity;
use crate::mac::headroom::{HeadroomReporting, KnownPower};
use crate::mac::polls::Polls;
use crate::mac::power::PuschPower;
use crate::mac::pusch::Sounding;
use crate::rrc::measurement::MeasurementConfig;

/// A UE.
#[derive(Debug)]
pub(crate) struct Ue {
    pub(crate) id: UeId,
    /// False once it was removed.
    pub(crate) is_present: bool,
    pub(crate) cell: CellId,
    pub(crate) bearers: Bearers,
    pub(crate) mobility: Mobility,
    /// The cells that do not serve it.
    pub(crate) neighbours: Neighbours,
    pub(crate) downlink: DownlinkState,
    pub(crate) uplink: UplinkState,
    /// Cache of [`Ue::control_sinr`], and its time: assignment and grant of one slot share it.
    pub(crate) control: (Instant, f32),
}

/// The downlink side of a UE.
#[derive(Debug)]
pub(crate) struct DownlinkState {
    pub(crate) channel: Channel,
    pub(crate) cqi: CqiReports,
    pub(crate) harq: HarqEntity,
    /// The HARQ process of the last new block.
    pub(crate) latest: Option<u8>,
    /// Decides whether a block decodes.
    pub(crate) draws: Stream,
    /// Decides whether the UE misses the PDCCH, in either direction.
    pub(crate) control_draws: Stream,
    /// Outer-loop correction in steps of MCS, for the rule that has one.
    pub(crate) outer_loop: f32,
    /// The MCS of its blocks, independent of its reports.
    pub(crate) fixed_mcs: Option<Mcs>,
    /// True if it is in its cell's list of UEs with downlink data.
    pub(crate) active: bool,
}

/// The uplink side of a UE, including the eNB's knowledge of it.
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
    /// Its transmit power.
    pub(crate) power: PuschPower,
    /// Its power headroom reports, and what the cell has learned from them.
    pub(crate) headroom: HeadroomReporting,
    pub(crate) known_power: KnownPower,
    /// The UE's backlog as known to the eNB, less the granted bytes.
    pub(crate) known_backlog: u64,
    /// Granted bytes whose PUSCH is in the future.
    pub(crate) outstanding: u64,
    /// A scheduling request or a buffer status is under way to the eNB.
    pub(crate) request_pending: bool,
    /// The state of a polling eNB for this UE.
    pub(crate) polls: Polls,
    /// True if it is in its cell's list of UEs that may send.
    pub(crate) active: bool,
}

impl Ue {
    /// Bytes waiting in the direction, including control.
    #[inline]
    pub(crate) fn backlog(&self, direction: Direction, now: Instant) -> Bytes {
        self.bearers.backlog(direction, now)
    }

    /// Whether bytes wait in the direction.
    #[inline]
    pub(crate) fn has_backlog(&self, direction: Direction, now: Instant) -> bool {
        self.bearers.has_backlog(direction, now)
    }

    /// The UE arrives at `cell` with only its bearer: the MAC is reset (TS 36.331 §5.3.5.4, TS
    /// 36.321 §5.9), and the channel to that cell becomes the serving one.
    pub(crate) fn enter(&mut self, id: CellId, cell: &CellConfig) {
        let channels = [&mut self.downlink.channel, &mut self.uplink.channel];
        self.neighbours.exchange(self.cell, id, channels);
        self.cell = id;
        self.control.0 = Instant::FAR_FUTURE;
        self.reset_mac(cell);
    }

    /// Resets the MAC in its cell.
    pub(crate) fn reset_mac(&mut self, cell: &CellConfig) {
        let downlink = &mut self.downlink;
        downlink.cqi = CqiReports::of(cell, self.id.index());
        downlink.harq.flush(cell.numerology.harq.processes);
        downlink.latest = None;
        (downlink.outer_loop, downlink.active) = (0.0, false);
        let uplink = &mut self.uplink;
        uplink.power = uplink.power.moved_to(cell);
        uplink.sounding = Sounding::default();
        (uplink.headroom, uplink.known_power) = Default::default();
        uplink.harq.flush(cell.numerology.harq.processes);
        (uplink.outer_loop, uplink.active) = (0.0, false);
        (uplink.known_backlog, uplink.outstanding, uplink.request_pending) = (0, 0, false);
        uplink.polls = Polls::default();
    }

    /// RSRP of every cell over the period that ends now, by cell. For a cell so weak that it fulfils
    /// the leaving condition of the event even with the largest fade, the mean before fading.
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

    /// The mean of RSRP over the period that ends now, by cell, as layer 1 makes a sample (TS 36.133 §8.1.2.2): the
    /// movement of the UE counts too. `before` has the means before fading at the beginning of the period, and gets
    /// those of its end.
    pub(crate) fn measure_mean_rsrp(
        &mut self,
        (now, period): (Instant, Duration),
        before: &mut [Option<Dbm>],
        out: &mut [Dbm],
    ) {
        let (mobility, mut common) = (&mut self.mobility, None);
        let serving = core::iter::once((self.cell, &mut self.downlink.channel));
        let others = self.neighbours.links_mut().iter_mut().map(|link| (link.cell, &mut link.downlink));
        for (cell, channel) in serving.chain(others) {
            let mean = channel.rsrp(now, mobility, &mut common);
            let when = (now, period, Dbm(f64::NEG_INFINITY));
            let fading = channel.rsrp_over(when, mobility, &mut common) - mean;
            let at_begin = before[cell.index()].replace(mean).unwrap_or(mean);
            out[cell.index()] = Dbm((at_begin.0 + mean.0) / 2.0) + fading;
        }
    }

    /// Linear SINR of a flat control region with the same probability of a miss as the UE's control
    /// region now. If the probability is negligible, at least [`control::SAFE`].
    pub(crate) fn control_sinr(
        &mut self,
        now: Instant,
        around: (&CellConfig, &Air),
        scratch: &mut [f32],
    ) -> f32 {
        if self.control.0 != now {
            self.control = (now, self.control_sinr_anew(now, around, scratch));
        }
        self.control.1
    }

    fn control_sinr_anew(
        &mut self,
        now: Instant,
        (serving, air): (&CellConfig, &Air),
        scratch: &mut [f32],
    ) -> f32 {
        let channel = &mut self.downlink.channel;
        // PDCCH never uses spatial multiplexing (TS 36.211 §6.8.4).
        let mean = channel.mean_sinr(now, &mut self.mobility)
            * serving.transmission_mode.one_layer_gain()
            * channel.burst_gain(now);
        let snapshot = air.snapshot(now, &mut self.neighbours, &mut self.mobility);
        let others = air.control(self.cell, Moment { snapshot, fading: now }, &mut self.neighbours);
        if channel.is_flat() && others.is_none() {
            return mean;
        }
        let Some(others) = others else {
            channel.sinr(now, mean, scratch);
            return control::effective_sinr(scratch);
        };
        // Control is spread over the band: among several cells, the middle of an RBG represents it.
        let mut seen = [0.0; PLACES];
        let (seen, least) = others.sinr_by_rbg(channel.gains(now), mean, &mut seen);
        if least >= control::SAFE {
            return control::SAFE; // the effective SINR is between them
        }
        control::effective_sinr(seen)
    }

    /// The same before any fading.
    pub(crate) fn mean_control_sinr(&mut self, now: Instant, (serving, air): (&CellConfig, &Air)) -> f32 {
        let mobility = &mut self.mobility;
        let channel = &mut self.downlink.channel;
        let mean = channel.mean_sinr(now, mobility) * serving.transmission_mode.one_layer_gain();
        let mean = mean * channel.blockage(now);
        mean / air.mean_control_noise(self.cell, now, (&mut self.neighbours, mobility))
    }

    /// The SR opportunity of this UE within a period, different for the UEs of the cell.
    pub(crate) fn scheduling_request_offset(&self, period: u32) -> u64 {
        u64::from(self.id.0 % period)
    }
}
