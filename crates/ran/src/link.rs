//! The link of a UE with a cell that serves it: its channels, its CQI reports, its HARQ processes and its power.

use std::sync::Arc;

use airlane_core::{Bytes, CellId, Dbm, Direction, Duration, Instant, Stream, UeId};
use airlane_radio::{Mcs, Mobility};

use crate::channel::{Channel, RsrpPeriod};
use crate::config::CellConfig;
use crate::cqi::CqiReports;
use crate::interference::{Air, Moment, Neighbours, PLACES};
use crate::mac::bwp::{Bwp, Part};
use crate::mac::control;
use crate::mac::grid::RbgSet;
use crate::mac::harq::HarqEntity;
use crate::mac::headroom::{HeadroomReporting, KnownPower};
use crate::mac::polls::Polls;
use crate::mac::power::PuschPower;
use crate::mac::pusch::Sounding;
use crate::mac::requests::SentRequests;
use crate::mac::scell::{ActivationCommand, Scell, ScellState, SecondaryCells, Waiting};
use crate::mac::shared_power::SharedPower;
use crate::rrc::measurement::MeasurementConfig;

/// The links of a UE with the cells that serve it.
#[derive(Debug)]
pub(crate) struct Links {
    primary: ServingLink,
    /// Those with secondary cells. The first ones are with the secondary cells of the primary cell, in their order; the
    /// others are not used.
    secondary: Vec<ServingLink>,
    secondary_cells: Arc<SecondaryCells>,
    /// Those of them to which the UE sends.
    uplink_cells: Arc<SecondaryCells>,
    /// The power of its PUSCHs, if it sends to several cells.
    pub(crate) power: SharedPower,
    /// Bytes of the uplink blocks that it has sent.
    sent_bytes: u64,
}

impl Links {
    pub(crate) fn new(
        primary: ServingLink,
        secondary: Vec<ServingLink>,
        secondary_cells: Arc<SecondaryCells>,
        uplink_cells: Arc<SecondaryCells>,
    ) -> Self {
        let are_scells = secondary.iter().all(|link| link.scell.is_some());
        assert!(primary.scell.is_none() && are_scells, "one primary link, which has no SCell");
        let mut links = Self {
            primary,
            secondary,
            secondary_cells,
            uplink_cells,
            power: SharedPower::default(),
            sent_bytes: 0,
        };
        links.choose_uplinks();
        links
    }

    /// Whether the UE always has one carrier.
    #[inline]
    pub(crate) fn is_single(&self) -> bool {
        self.secondary.is_empty()
    }

    /// The links with the secondary cells of the present primary cell, and these cells.
    pub(crate) fn with_secondary_cells(&mut self) -> impl Iterator<Item = (&mut ServingLink, CellId)> {
        let cells = self.secondary_cells.get(&self.primary.cell).map_or(&[][..], Vec::as_slice);
        self.secondary.iter_mut().zip(cells.iter().copied())
    }

    /// The primary cell has changed: the UE sends to some of the secondary cells that go with it.
    pub(crate) fn choose_uplinks(&mut self) {
        let uplink_cells = Arc::clone(&self.uplink_cells);
        let chosen = uplink_cells.get(&self.primary.cell).map_or(&[][..], Vec::as_slice);
        for (link, cell) in self.with_secondary_cells() {
            if let Some(scell) = &mut link.scell {
                scell.has_uplink = chosen.contains(&cell);
            }
        }
    }

    /// Whether the UE sends to secondary cells, at least with some primary cells.
    #[inline]
    pub(crate) fn send_to_several(&self) -> bool {
        !self.uplink_cells.is_empty()
    }

    /// Whether a new packet in this direction may concern other cells than the primary one, before it is accepted there. Cells
    /// that have the UE among those with downlink data will look at its queue anyway.
    #[inline]
    pub(crate) fn may_wake_others(&self, direction: Direction) -> bool {
        let are_awake = || self.iter().all(|link| link.downlink.active || !link.is_in_use());
        !self.is_single() && (self.send_to_several() || (direction == Direction::Downlink && !are_awake()))
    }

    /// All links, the primary one first.
    #[inline]
    fn iter(&self) -> impl Iterator<Item = &ServingLink> {
        core::iter::once(&self.primary).chain(&self.secondary)
    }

    /// Whether any block of any link is on the air or waits for its retransmission.
    pub(crate) fn has_blocks(&self) -> bool {
        self.iter().any(|link| link.downlink.harq.any_busy()) || self.has_uplink_blocks()
    }

    /// The same of the uplink.
    #[inline]
    pub(crate) fn has_uplink_blocks(&self) -> bool {
        self.iter().any(|link| link.uplink.harq.any_busy())
    }

    /// Bytes that were granted by all cells and whose PUSCH is in the future.
    #[inline]
    pub(crate) fn outstanding(&self) -> u64 {
        self.iter().map(|link| link.uplink.outstanding).sum()
    }

    /// Whether the UE has blocks of the uplink that were granted and not decoded yet.
    pub(crate) fn has_undecoded_pusch(&self) -> bool {
        self.iter().any(|link| link.uplink.harq.any_busy())
    }

    /// Bytes that wait at the UE and are not granted, as its cells know them: one buffer status report is about all
    /// carriers (TS 36.321 §5.4.5, TS 38.321 §5.4.5).
    #[inline]
    pub(crate) fn known_backlog(&self) -> u64 {
        self.primary.uplink.known_backlog
    }

    /// See [`Self::known_backlog`].
    #[inline]
    pub(crate) fn known_backlog_mut(&mut self) -> &mut u64 {
        &mut self.primary.uplink.known_backlog
    }

    /// A new uplink block of this size is sent. Returns the bytes of all blocks so far.
    #[inline]
    pub(crate) fn count_sent(&mut self, size: Bytes) -> u64 {
        self.sent_bytes += size.get();
        self.sent_bytes
    }

    /// A block reports what was in the buffer when it was built, when the blocks so far had `sent` bytes. Of that, later
    /// blocks of all carriers have taken something, and grants for the future will.
    #[inline]
    pub(crate) fn on_buffer_status(&mut self, backlog: u64, sent: u64) {
        let left = backlog.saturating_sub(self.sent_bytes - sent);
        *self.known_backlog_mut() = left.saturating_sub(self.outstanding());
    }

    /// The UE leaves a cell: the cell's grants are void, and what they were for is still waiting.
    pub(crate) fn void_grants(&mut self, cell: CellId) {
        self.power.forget(cell);
        let void = core::mem::take(&mut self.with_mut(cell).uplink.outstanding);
        *self.known_backlog_mut() += void;
    }

    /// The links with secondary cells.
    #[inline]
    pub(crate) fn secondary(&self) -> &[ServingLink] {
        &self.secondary
    }

    /// See [`Self::secondary`].
    pub(crate) fn secondary_mut(&mut self) -> &mut [ServingLink] {
        &mut self.secondary
    }

    /// The SCells and their states.
    pub(crate) fn scells_mut(&mut self) -> impl Iterator<Item = &mut Scell> {
        self.secondary.iter_mut().filter_map(|link| link.scell.as_deref_mut())
    }

    /// Serving cells that can be scheduled.
    pub(crate) fn active_carriers(&self) -> u32 {
        1 + self.secondary.iter().filter(|link| link.is_in_use()).count() as u32
    }

    /// The activation command, if a block of this cell has one: the PCell activates SCells if a queue is long.
    #[inline]
    pub(crate) fn command(&self, cell: CellId, queue: impl FnOnce() -> Bytes) -> Option<ActivationCommand> {
        if self.is_single() || self.primary.cell != cell {
            return None;
        }
        let waiting = Waiting { downlink: queue(), uplink: Bytes(self.known_backlog() + self.outstanding()) };
        let scells = || self.secondary.iter().filter_map(|link| link.scell.as_ref());
        let configured = || scells().filter(|scell| scell.state != ScellState::Unconfigured).count();
        let command = || ActivationCommand::new(configured(), waiting, self.send_to_several());
        scells().any(|scell| scell.is_wanted(waiting)).then(command)
    }

    /// The bytes of an activation command that a block of this cell has without any data.
    #[cold]
    pub(crate) fn lone_command(&self, cell: CellId) -> Bytes {
        let command = self.command(cell, || Bytes::ZERO).filter(|command| command.is_sent_alone);
        command.map_or(Bytes::ZERO, |command| command.bytes)
    }

    /// The link with the primary cell, which a handover changes.
    #[inline]
    pub(crate) fn primary(&self) -> &ServingLink {
        &self.primary
    }

    /// See [`Self::primary`].
    #[inline]
    pub(crate) fn primary_mut(&mut self) -> &mut ServingLink {
        &mut self.primary
    }

    /// The link with a cell that serves the UE.
    #[inline]
    pub(crate) fn with(&self, cell: CellId) -> &ServingLink {
        if self.primary.cell == cell {
            return &self.primary;
        }
        self.secondary.iter().find(|link| link.cell == cell).expect("this cell serves the UE")
    }

    /// See [`Self::with`].
    #[inline]
    pub(crate) fn with_mut(&mut self, cell: CellId) -> &mut ServingLink {
        if self.primary.cell == cell {
            return &mut self.primary;
        }
        self.secondary.iter_mut().find(|link| link.cell == cell).expect("this cell serves the UE")
    }

    /// Whether this is the primary cell, which has the scheduling requests and the configured grants of the UE.
    #[inline]
    pub(crate) fn is_primary(&self, cell: CellId) -> bool {
        self.primary.cell == cell
    }

    /// The link with this cell, if there is one.
    #[inline]
    pub(crate) fn find_mut(&mut self, cell: CellId) -> Option<&mut ServingLink> {
        self.iter_mut().find(|link| link.cell == cell)
    }

    /// All links, the primary one first.
    #[inline]
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ServingLink> {
        core::iter::once(&mut self.primary).chain(&mut self.secondary)
    }
}

/// A serving cell, and the transmissions of all cells.
#[derive(Clone, Copy)]
pub(crate) struct Radio<'a> {
    pub(crate) cell: &'a CellConfig,
    pub(crate) air: &'a Air,
}

/// The link of a UE with a cell that serves it.
#[derive(Debug)]
pub(crate) struct ServingLink {
    pub(crate) cell: CellId,
    /// The other cells that the UE receives.
    pub(crate) neighbours: Neighbours,
    pub(crate) downlink: DownlinkState,
    pub(crate) uplink: UplinkState,
    /// The state of a secondary cell; `None` for the primary one.
    pub(crate) scell: Option<Box<Scell>>,
    /// Bandwidth parts, if the cell has some for the UE.
    pub(crate) bwp: Option<Box<Bwp>>,
    /// Whether the UE uses those of a cell: not as the primary one of several.
    pub(crate) uses_parts: bool,
    /// Cache of [`Self::control_sinr`], and its time: assignment and grant of one slot share it.
    pub(crate) control: (Instant, f32),
}

/// The downlink of a link.
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
    /// The MCS of all blocks, independent of CQI reports.
    pub(crate) fixed_mcs: Option<Mcs>,
    /// True if the UE is in the cell's list of those with downlink data.
    pub(crate) active: bool,
    /// The blocks that were sent to it.
    pub(crate) sent: BlockCounts,
}

/// Sums over the blocks of a UE. Blocks of layers on the same PRBs count their PRBs once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlockCounts {
    /// PRBs, and those of retransmissions.
    pub(crate) prbs: u64,
    pub(crate) repeated_prbs: u64,
    /// Bytes of new blocks.
    pub(crate) bytes: u64,
}

/// The uplink of a link, with the eNB's knowledge of its UE.
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
    /// The transmit power.
    pub(crate) power: PuschPower,
    /// The UE's power headroom reports, and what the cell has learned from them.
    pub(crate) headroom: HeadroomReporting,
    pub(crate) known_power: KnownPower,
    /// The UE's backlog as known to the eNB, less the granted bytes. That of the primary link is used by all cells.
    pub(crate) known_backlog: u64,
    /// Granted bytes whose PUSCH is in the future.
    pub(crate) outstanding: u64,
    /// A scheduling request or a buffer status is under way to the eNB.
    pub(crate) request_pending: bool,
    /// Scheduling requests since the latest grant, if the cell limits them.
    pub(crate) requests: SentRequests,
    /// The state of a polling eNB for this UE.
    pub(crate) polls: Polls,
    /// True if the UE is in the cell's list of those that may send.
    pub(crate) active: bool,
}

impl ServingLink {
    /// Whether the UE listens to the cell: it is the primary one, or an active secondary one.
    #[inline]
    pub(crate) fn is_in_use(&self) -> bool {
        self.scell.as_ref().is_none_or(|scell| scell.is_active())
    }

    /// Whether the UE sends to the cell: it is the primary one, or an active secondary one with an uplink.
    #[inline]
    pub(crate) fn is_sent_to(&self) -> bool {
        self.scell.as_ref().is_none_or(|scell| scell.has_uplink && scell.is_active())
    }

    /// The UE has received an assignment or a grant of a block of this cell.
    #[inline]
    pub(crate) fn on_assignment(&mut self, now: Instant) {
        if let Some(scell) = &mut self.scell {
            debug_assert!(scell.is_active(), "an assignment on an SCell that is not active");
            scell.begin(now);
        }
        if let Some(bwp) = &mut self.bwp {
            bwp.on_pdcch(now);
        }
    }

    /// The resource block groups that the PDCCH which begins at this time may assign.
    #[inline]
    pub(crate) fn usable_rbgs(&self, pdcch: Instant) -> RbgSet {
        self.bwp.as_ref().map_or(RbgSet::MAX, |bwp| bwp.usable_rbgs(pdcch))
    }

    /// Whether a PUSCH at this time is on the default part.
    #[inline]
    pub(crate) fn is_on_default(&self, at: Instant) -> bool {
        self.bwp.as_ref().is_some_and(|bwp| bwp.part(at) != Part::Carrier)
    }

    /// The resource blocks of the part on which a PUSCH at this time is.
    pub(crate) fn part_prbs(&self, cell: &CellConfig, at: Instant) -> u16 {
        let default = self.bwp.as_ref().filter(|_| self.is_on_default(at));
        default.map_or(cell.resource_blocks, |bwp| bwp.prbs())
    }

    /// Because of a PDCCH, the UE sends something that ends at this time.
    #[inline]
    pub(crate) fn on_answer(&mut self, end: Instant) {
        if let Some(bwp) = &mut self.bwp {
            bwp.on_answer(end);
        }
    }

    /// The UE arrives at `cell` with only its bearers: the MAC is reset (TS 36.331 §5.3.5.4, TS
    /// 36.321 §5.9), and the channel to that cell becomes the serving one.
    pub(crate) fn enter(&mut self, ue: UeId, id: CellId, cell: &CellConfig) {
        let channels = [&mut self.downlink.channel, &mut self.uplink.channel];
        self.neighbours.exchange(self.cell, id, channels);
        self.cell = id;
        self.control.0 = Instant::FAR_FUTURE;
        self.reset_mac(ue, cell);
    }

    /// Resets the MAC of a UE in its cell.
    pub(crate) fn reset_mac(&mut self, ue: UeId, cell: &CellConfig) {
        self.bwp = Bwp::of(cell).filter(|_| self.uses_parts);
        let downlink = &mut self.downlink;
        downlink.cqi = CqiReports::of(cell, ue.index());
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
        (uplink.polls, uplink.requests) = Default::default();
    }

    /// RSRP of every cell in reach over the period that ends now, by cell; minus infinity for the others. For a cell so
    /// weak that it fulfils the leaving condition of the event even with the largest fade, the mean before fading.
    pub(crate) fn measure_rsrp(
        &mut self,
        now: Instant,
        mobility: &mut Mobility,
        config: &MeasurementConfig,
        out: &mut [Dbm],
    ) {
        self.neighbours.prepare(now, mobility);
        let mut common = None;
        let every = RsrpPeriod { end: now, length: config.period, relevant_from: Dbm(f64::NEG_INFINITY) };
        let serving = self.downlink.channel.rsrp_over(every, mobility, &mut common);
        out.fill(Dbm(f64::NEG_INFINITY));
        out[self.cell.index()] = serving;
        let relevant_from = serving + config.event.offset - config.event.hysteresis;
        for other in self.neighbours.channels_mut() {
            let period = RsrpPeriod { relevant_from, ..every };
            out[other.cell.index()] = other.downlink.rsrp_over(period, mobility, &mut common);
        }
    }

    /// [`Channel::mean_rsrp`] over the period that ends now, by cell.
    pub(crate) fn measure_mean_rsrp(
        &mut self,
        now: Instant,
        period: Duration,
        mobility: &mut Mobility,
        before: &mut [Option<Dbm>],
        out: &mut [Dbm],
    ) {
        self.neighbours.prepare(now, mobility);
        let mut common = None;
        out.fill(Dbm(f64::NEG_INFINITY));
        let serving = core::iter::once((self.cell, &mut self.downlink.channel));
        let others = self.neighbours.channels_mut().iter_mut().map(|other| (other.cell, &mut other.downlink));
        for (cell, channel) in serving.chain(others) {
            out[cell.index()] =
                channel.mean_rsrp((now, period), mobility, &mut before[cell.index()], &mut common);
        }
        let out_of_reach = before.iter_mut().zip(out).filter(|(_, rsrp)| rsrp.0 == f64::NEG_INFINITY);
        out_of_reach.for_each(|(before, _)| *before = None);
    }

    /// Linear SINR of a flat control region with the same probability of a miss as the UE's control
    /// region now. If the probability is negligible, at least [`control::SAFE`].
    pub(crate) fn control_sinr(
        &mut self,
        now: Instant,
        mobility: &mut Mobility,
        radio: Radio<'_>,
        scratch: &mut [f32],
    ) -> f32 {
        if self.control.0 != now {
            self.control = (now, self.compute_control_sinr(now, mobility, radio, scratch));
        }
        self.control.1
    }

    fn compute_control_sinr(
        &mut self,
        now: Instant,
        mobility: &mut Mobility,
        Radio { cell, air }: Radio<'_>,
        scratch: &mut [f32],
    ) -> f32 {
        let channel = &mut self.downlink.channel;
        // PDCCH never uses spatial multiplexing (TS 36.211 §6.8.4).
        let mean = channel.mean_sinr(now, mobility)
            * cell.transmission_mode.one_layer_gain()
            * channel.burst_gain(now);
        let snapshot = air.snapshot(now, &mut self.neighbours, mobility);
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

    /// Whether the UE misses a PDCCH of this cell now.
    pub(crate) fn misses_control(
        &mut self,
        now: Instant,
        mobility: &mut Mobility,
        radio: Radio<'_>,
        scratch: &mut [f32],
    ) -> bool {
        radio.cell.mac.control_errors && {
            let sinr = self.control_sinr(now, mobility, radio, scratch);
            control::is_missed(sinr, &mut self.downlink.control_draws)
        }
    }

    /// [`Self::control_sinr`] before any fading.
    pub(crate) fn mean_control_sinr(
        &mut self,
        now: Instant,
        mobility: &mut Mobility,
        Radio { cell, air }: Radio<'_>,
    ) -> f32 {
        let channel = &mut self.downlink.channel;
        let mean = channel.mean_sinr(now, mobility) * cell.transmission_mode.one_layer_gain();
        let mean = mean * channel.blockage(now);
        mean / air.mean_control_noise(self.cell, now, &mut self.neighbours, mobility)
    }
}
