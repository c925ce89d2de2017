//! Handover of a bearer: PDCP and RLC are re-established at both ends, and the data that the source
//! eNB has not sent move to the target (TS 36.300 v17.0 §10.1.2.3, TS 36.323 v17.0 §5.2, TS 36.322
//! v17.0 §5.4).
//!
//! A [`RadioBearer`] holds both ends, so it leaves its cell in one instant and is then the bearer
//! of the next cell. [`RadioBearer::leave`] outputs the data for X2 and stops the bearer. Data from
//! X2 are passed to [`RadioBearer::accept_forwarded`] and [`RadioBearer::accept_sn_status`].
//! [`RadioBearer::arrive`] is called when the UE has reached the target.
//! [`Forwarding`](crate::x2::Forwarding) transports the data.
//!
//! Not included: forwarding of uplink SDUs that were received out of order. The source discards
//! them, as TS 36.300 v17.0 §10.1.2.3.2 allows, and the UE sends them again.

use airlane_core::{Cx, Direction, DropCause, PacketRef};

use super::{OneWay, RadioBearer, RlcMode};
use crate::bearers::DEFAULT_BEARER;
use crate::pdcp::NumberedSdu;
use crate::pdcp::reception::Reception;
use crate::pdcp::status::StatusReport;
use crate::rlc::store::{CONTROL, Drained};
use crate::x2::{ForwardingTarget, SnStatusTransfer};

/// How SDUs that have a COUNT and are not confirmed are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverMode {
    /// They are sent again in the order of COUNT: by the target after the source has forwarded
    /// them, and by the UE. For RLC AM.
    Lossless,
    /// They are dropped at both senders; SDUs without a COUNT are forwarded. For RLC AM. "Seamless"
    /// for AM is not a 3GPP term but that of Nguyen et al., "Towards understanding TCP performance
    /// on LTE/EPC mobile networks" (AllThingsCellular 2014), §3.2. The paper describes the
    /// downlink; here the uplink is treated in the same way.
    Seamless,
    /// The same for RLC UM, with COUNT starting again from 0: "seamless" in the sense of 3GPP.
    SeamlessUm,
}

impl HandoverMode {
    /// The mode of RLC to which it applies.
    #[must_use]
    pub const fn rlc(self) -> RlcMode {
        match self {
            Self::Lossless | Self::Seamless => RlcMode::Am,
            Self::SeamlessUm => RlcMode::Um,
        }
    }
}

/// The conditions that prevent a bearer from sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Suspension {
    /// The UE is between two cells.
    pub(super) away: bool,
    /// SN STATUS TRANSFER has not arrived yet.
    pub(super) without_sn_status: bool,
    /// The radio link has failed.
    pub(super) failed: bool,
}

/// Counters of the handovers of a bearer. SDUs are counted with their PDCP headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandoverStatistics {
    /// SDUs that a source forwarded, and their bytes.
    pub forwarded: u64,
    /// See `forwarded`.
    pub forwarded_bytes: u64,
    /// Packets that a re-establishment dropped, and their bytes.
    pub dropped: u64,
    /// See `dropped`.
    pub dropped_bytes: u64,
    /// SDUs that were not sent again because a status report confirmed them.
    pub spared: u64,
}

/// The output of a re-establishment.
#[derive(Debug, Default)]
pub struct Departure {
    /// Downlink SDUs that the UE can deliver now.
    pub downlink: Vec<PacketRef>,
    /// Uplink SDUs that the source eNB can deliver now.
    pub uplink: Vec<PacketRef>,
    /// Data to be forwarded to the target, in this order.
    pub forwarded: Vec<NumberedSdu>,
    /// SN STATUS TRANSFER, of each bearer that preserves its COUNTs.
    pub sn_status: Vec<SnStatusTransfer>,
}

impl HandoverStatistics {
    /// The counters of two bearers together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            forwarded: self.forwarded + other.forwarded,
            forwarded_bytes: self.forwarded_bytes + other.forwarded_bytes,
            dropped: self.dropped + other.dropped,
            dropped_bytes: self.dropped_bytes + other.dropped_bytes,
            spared: self.spared + other.spared,
        }
    }
}

impl RadioBearer {
    /// How it is handed over where the default bearer is in this mode: the same way if both have one mode of RLC.
    pub(crate) fn handover_mode(&self, of_default: HandoverMode) -> HandoverMode {
        match self.downlink.rlc.mode() {
            mode if mode == of_default.rlc() => of_default,
            RlcMode::Am => HandoverMode::Lossless,
            RlcMode::Um => HandoverMode::SeamlessUm,
            RlcMode::Tm => of_default,
        }
    }

    /// The UE leaves its cell, or re-establishes in the same cell. Nothing is sent until it has arrived.
    ///
    /// # Panics
    /// If the handover mode does not fit the RLC mode, or `out` is not empty.
    pub fn leave(&mut self, cx: &mut Cx<'_>, mode: HandoverMode, out: &mut Departure) {
        let rlc = self.downlink.rlc.mode();
        assert_eq!(rlc, mode.rlc(), "a handover mode for another mode of RLC");
        let is_am = rlc == RlcMode::Am;
        assert!(out.forwarded.is_empty() && out.downlink.is_empty() && out.uplink.is_empty());
        let statistics = &mut self.handover;
        let forwarded = &mut out.forwarded;
        // SDUs with a COUNT are treated like those that have been sent; a lossless handover preserves
        // the order of COUNT.
        let mut held = match mode {
            HandoverMode::Seamless => self.downlink.source.held_of_waiting(),
            HandoverMode::Lossless | HandoverMode::SeamlessUm => 0,
        };
        self.downlink.reestablish(cx, mode, statistics, &mut out.downlink, |sdu| forwarded.push(sdu));
        let mut uplink_again = Vec::new();
        self.uplink.reestablish(cx, mode, statistics, &mut out.uplink, |sdu| uplink_again.push(sdu));
        // The UE keeps its unsent data.
        for sdu in uplink_again {
            let count = sdu.count.expect("it has been begun");
            self.uplink.source.send_again(cx.now, count, sdu.size, sdu.packet);
        }
        let mut waiting = Vec::new();
        self.downlink.source.queue.drain(cx, |sdu| waiting.push(sdu));
        for sdu in waiting {
            match held.checked_sub(u64::from(sdu.size)) {
                Some(left) => {
                    held = left;
                    drop_packet(cx, sdu.packet, statistics);
                }
                None => {
                    held = 0;
                    forwarded.push(NumberedSdu {
                        e_rab: DEFAULT_BEARER,
                        count: None,
                        size: sdu.size,
                        packet: Some(sdu.packet),
                    });
                }
            }
        }
        statistics.forwarded += forwarded.len() as u64;
        statistics.forwarded_bytes += forwarded.iter().map(|sdu| u64::from(sdu.size)).sum::<u64>();
        out.sn_status.extend(is_am.then(|| SnStatusTransfer {
            e_rab: DEFAULT_BEARER,
            uplink_count: self.uplink.first_missing(),
            downlink_count: self.downlink.source.sdus.next_count(),
            uplink_received: Vec::new(),
        }));
        self.suspension = Suspension { away: true, without_sn_status: is_am, failed: false };
        self.update_timeout();
    }

    /// The UE has arrived at the target.
    pub fn arrive(&mut self, cx: &mut Cx<'_>) {
        self.suspension.away = false;
        self.begin_reports(cx);
    }

    /// The radio link has failed: nothing is sent until the UE has left this cell and arrived at a
    /// cell (TS 36.331 v17.0 §5.3.7.2).
    pub fn suspend(&mut self) {
        self.suspension.failed = true;
    }

    /// The UE re-establishes in the cell that served it, which has all the data.
    ///
    /// # Panics
    /// As [`leave`](Self::leave) does.
    pub fn begin_anew(&mut self, cx: &mut Cx<'_>, mode: HandoverMode, out: &mut Departure) {
        self.leave(cx, mode, out);
        for sdu in out.forwarded.drain(..) {
            self.accept_forwarded(cx, sdu);
        }
        for status in out.sn_status.drain(..) {
            self.accept_sn_status(cx, &status);
        }
        self.arrive(cx);
    }

    /// True until SN STATUS TRANSFER has arrived.
    #[must_use]
    pub const fn awaits_sn_status(&self) -> bool {
        self.suspension.without_sn_status
    }

    /// True if nothing may be sent: the radio link has failed, the UE is between two cells, or SN
    /// STATUS TRANSFER has not arrived yet.
    #[inline]
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.suspension != Suspension::default()
    }

    /// Counters of the handovers so far.
    #[must_use]
    pub fn handover_statistics(&self) -> HandoverStatistics {
        self.handover
    }

    /// SDUs of this direction that arrived more than once.
    #[must_use]
    pub fn duplicates(&self, direction: Direction) -> u64 {
        let way = self.way(direction);
        way.rlc.nr().map_or(way.source.sdus.reception.duplicates(), |nr| nr.pdcp.duplicates())
    }

    /// True if no SDU, report or timer of a handover is left.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let settled = |way: &OneWay| way.source.again_len() == 0 && way.source.sdus.reception.is_idle();
        !self.is_suspended() && settled(&self.downlink) && settled(&self.uplink)
    }

    /// Once both ends may send, each first reports what it has received (TS 36.323 v17.0 §5.3.1).
    fn begin_reports(&mut self, cx: &mut Cx<'_>) {
        if self.is_suspended() || !self.status_report {
            return;
        }
        for direction in [Direction::Downlink, Direction::Uplink] {
            let (way, back) = self.ways_mut(direction);
            let (sn_bits, reception) = (way.source.sn_bits(), &way.source.sdus.reception);
            // Only a lossless handover needs reports.
            if let Some(nr) = way.rlc.nr_mut() {
                let Some(report) = nr.pdcp.take_report() else { continue };
                let pdu = report.encode_nr();
                back.source.send_control(cx.now, u32::try_from(pdu.len()).expect("at most 9000 bytes"));
                back.source.sdus.reception.hold_report(pdu);
                continue;
            }
            if !reception.is_sorting() {
                continue;
            }
            let report =
                StatusReport { first_missing: reception.next(), received: reception.stored().collect() };
            let pdu = report.encode(sn_bits);
            back.source.send_control(cx.now, u32::try_from(pdu.len()).expect("a bitmap of a window"));
            back.begin_sorting();
            back.source.sdus.reception.expect_report(pdu);
        }
    }

    /// Handles the results of sorting SDUs in PDCP.
    #[cold]
    pub(super) fn after_sorting(&mut self, cx: &mut Cx<'_>, direction: Direction) {
        let statistics = &mut self.handover;
        let (way, back) = match direction {
            Direction::Downlink => (&mut self.downlink, &mut self.uplink),
            Direction::Uplink => (&mut self.uplink, &mut self.downlink),
        };
        drop_late(cx, &mut way.source.sdus.reception, statistics);
        let Some(pdu) = way.source.sdus.reception.take_report() else { return };
        let next_count = back.source.sdus.next_count();
        let report = match back.rlc.nr() {
            Some(_) => StatusReport::decode_nr(&pdu),
            None => StatusReport::decode(&pdu, back.source.sn_bits(), next_count),
        };
        let report = report.expect("what the other end has encoded");
        let mut given_up = Vec::new();
        statistics.spared += back.source.spare(|count| report.confirms(count), &mut given_up);
        // The receiver no longer awaits them: after the end of t-Reordering (TS 38.323 v18.5.0 §5.4.2: all below FMC count
        // as delivered), or in the downlink of LTE, where later SDUs may overtake them on X2 before the UE is handed over
        // again (TS 36.323 v17.0 §5.1.2.1.2: what is below a received SDU is not awaited).
        let may_overtake = back.rlc.nr().is_some() || direction == Direction::Uplink;
        assert!(given_up.is_empty() || may_overtake, "a packet that is at both ends");
        given_up.into_iter().for_each(|packet| cx.discard(packet, DropCause::Discarded));
        back.after_shrinking(cx);
    }
}

impl ForwardingTarget for RadioBearer {
    fn fresh(&mut self, cx: &Cx<'_>, packet: PacketRef) -> NumberedSdu {
        let size = self.sdu_size(cx.pool.get(&packet).size);
        NumberedSdu { e_rab: DEFAULT_BEARER, count: None, size, packet: Some(packet) }
    }

    /// An SDU has arrived over X2. SDUs with a COUNT are sent before those without. An SDU without
    /// a COUNT waits in the transmit queue, subject to its limit.
    fn accept_forwarded(&mut self, cx: &mut Cx<'_>, sdu: NumberedSdu) {
        let NumberedSdu { count, size, packet, .. } = sdu;
        match (count, packet) {
            (Some(count), packet) => {
                // Other SDUs may have overtaken it, so the UE must compare COUNTs.
                self.downlink.begin_sorting();
                self.downlink.source.send_again(cx.now, count, size, packet);
            }
            (None, Some(packet)) => self.submit(cx, Direction::Downlink, packet),
            (None, None) => unreachable!("the receiver cannot have what was never sent"),
        }
    }

    /// SN STATUS TRANSFER has arrived over X2.
    fn accept_sn_status(&mut self, cx: &mut Cx<'_>, status: &SnStatusTransfer) {
        debug_assert_eq!(status.uplink_count, self.uplink.first_missing(), "the uplink moved meanwhile");
        self.downlink.source.sdus.set_next_count(status.downlink_count);
        self.suspension.without_sn_status = false;
        self.begin_reports(cx);
    }
}

impl OneWay {
    /// The COUNT that the receiver waits for.
    fn first_missing(&self) -> u32 {
        let sdus = &self.source.sdus;
        if let Some(nr) = self.rlc.nr() {
            return nr.pdcp.first_missing();
        }
        if sdus.reception.is_sorting() {
            return sdus.reception.next();
        }
        sdus.first_undelivered().unwrap_or(sdus.next_count())
    }

    /// From now on, the receiver compares COUNTs. That of NR always does.
    fn begin_sorting(&mut self) {
        if self.rlc.nr().is_some() {
            return;
        }
        let next = self.first_missing();
        let until = self.source.sdus.next_count();
        self.source.sdus.reception.begin(next, until);
    }

    /// Re-establishes both ends. `keep` is called with the SDUs that have a COUNT and will be sent
    /// again.
    fn reestablish(
        &mut self,
        cx: &mut Cx<'_>,
        mode: HandoverMode,
        statistics: &mut HandoverStatistics,
        deliver: &mut Vec<PacketRef>,
        mut keep: impl FnMut(NumberedSdu),
    ) {
        let ranges = self.rlc.received(&self.source);
        self.source.sdus.reception.lose_report();
        match mode {
            HandoverMode::Lossless => self.begin_sorting(),
            HandoverMode::Seamless | HandoverMode::SeamlessUm => {}
        }
        let mut begun = Vec::new();
        self.source.sdus.drain(&mut begun);
        let mut confirmed_so_far = true;
        for sdu in begun.into_iter().filter(|sdu| sdu.count != CONTROL) {
            let confirmed = self.rlc.has_confirmed(sdu.from, sdu.to, &self.source);
            confirmed_so_far &= confirmed;
            let is_complete = ranges.cover(sdu.from, sdu.to);
            let Drained { count, packet, from, to } = sdu;
            let size = (to - from) as u32;
            let numbered = |packet| NumberedSdu { e_rab: DEFAULT_BEARER, count: Some(count), size, packet };
            match mode {
                HandoverMode::Seamless | HandoverMode::SeamlessUm => match packet {
                    Some(packet) if is_complete => self.source.sdus.reception.store(count, packet),
                    Some(packet) => drop_packet(cx, packet, statistics),
                    None => {}
                },
                // TS 36.300 v17.0 §10.1.2.3.1: the SDUs that the UE has not acknowledged.
                HandoverMode::Lossless if self.direction == Direction::Downlink => {
                    let (stored, rest) = if is_complete { (packet, None) } else { (None, packet) };
                    assert!(!confirmed || rest.is_none(), "confirmed what has not come");
                    if let Some(packet) = stored {
                        self.source.sdus.reception.store(count, packet);
                    }
                    if !confirmed {
                        keep(numbered(rest));
                    }
                }
                HandoverMode::Lossless if confirmed_so_far => {
                    // SDUs that RLC held behind a lost status report of PDCP are delivered now (TS 36.322
                    // v17.0 §5.4).
                    if let Some(packet) = packet {
                        assert!(is_complete, "confirmed what has not come");
                        self.source.sdus.reception.store(count, packet);
                    }
                }
                // TS 36.323 v17.0 §5.2.1.1: all SDUs from the first unconfirmed one on; the eNB has
                // discarded those that it has not delivered.
                HandoverMode::Lossless => keep(numbered(packet.or_else(|| self.rlc.take_back(count)))),
            }
        }
        drop_late(cx, &mut self.source.sdus.reception, statistics);
        let mut left = Vec::new();
        self.source.drain_again(|_, sdu| left.push(sdu));
        for sdu in left {
            match (mode, sdu.packet) {
                (HandoverMode::Lossless, None) if self.direction == Direction::Uplink => {
                    let packet = sdu.count.and_then(|count| self.rlc.take_back(count));
                    keep(NumberedSdu { packet, ..sdu });
                }
                (HandoverMode::Lossless, packet) => keep(NumberedSdu { packet, ..sdu }),
                (_, Some(packet)) => drop_packet(cx, packet, statistics),
                (_, None) => {}
            }
        }
        self.end_reestablishment(mode, deliver);
    }

    fn end_reestablishment(&mut self, mode: HandoverMode, deliver: &mut Vec<PacketRef>) {
        if let Some(nr) = self.rlc.nr_mut() {
            match mode {
                HandoverMode::Lossless => nr.pdcp.request_report(),
                HandoverMode::Seamless => nr.pdcp.end(self.source.sdus.next_count(), deliver),
                HandoverMode::SeamlessUm => nr.pdcp.end(0, deliver), // TS 38.323 v18.5.0 §5.1.2
            }
        }
        match mode {
            HandoverMode::Lossless => self.source.sdus.reception.advance(deliver),
            // SDUs behind a gap are delivered: the gap will not be filled.
            HandoverMode::Seamless => self.source.sdus.reception.end(deliver),
            HandoverMode::SeamlessUm => {
                self.source.sdus.reception.end(deliver);
                self.source.sdus.set_next_count(0); // TS 36.323 v17.0 §5.2.1.2, §5.2.2.2
            }
        }
        self.rlc.restart(&mut self.source);
    }
}

fn drop_late(cx: &mut Cx<'_>, reception: &mut Reception, statistics: &mut HandoverStatistics) {
    while let Some(packet) = reception.take_late() {
        drop_packet(cx, packet, statistics);
    }
}

fn drop_packet(cx: &mut Cx<'_>, packet: PacketRef, statistics: &mut HandoverStatistics) {
    statistics.dropped += 1;
    statistics.dropped_bytes += cx.pool.get(&packet).size.get();
    cx.discard(packet, DropCause::Handover);
}
