//! What a handover does to a bearer: PDCP and RLC are re-established at both ends, and what the
//! source eNB still has to send moves to the target (TS 36.300 v17.0 §10.1.2.3,
//! TS 36.323 v17.0 §5.2, TS 36.322 v17.0 §5.4).
//!
//! A [`RadioBearer`] holds both ends, so it leaves its cell in one instant and from then on is
//! the bearer of the next one. [`RadioBearer::leave`] gives out what has to go over X2 and stops
//! the bearer; what comes out of X2 is put back by [`RadioBearer::accept_forwarded`] and
//! [`RadioBearer::accept_sn_status`]; [`RadioBearer::arrive`] says that the UE has reached the
//! target. [`Forwarding`](crate::x2::Forwarding) does the carrying.
//!
//! Left out: forwarding of uplink SDUs that came out of order. The source discards them, as
//! TS 36.300 v17.0 §10.1.2.3.2 allows, and the UE sends them again.

use airlane_core::{Cx, Direction, DropCause, PacketRef};

use super::{OneWay, RadioBearer, Rlc, RlcMode};
use crate::pdcp::NumberedSdu;
use crate::pdcp::status::StatusReport;
use crate::rlc::store::{CONTROL, Drained, Ranges};
use crate::x2::SnStatusTransfer;

/// What becomes of SDUs that have a COUNT and are not confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverMode {
    /// They are sent again in the order of COUNT, by the target after the source has forwarded
    /// them, and by the UE. For RLC AM.
    Lossless,
    /// They are dropped at both senders; SDUs without a COUNT are forwarded. For RLC AM, where
    /// "seamless" is not the word of 3GPP but that of Nguyen et al., "Towards understanding TCP
    /// performance on LTE/EPC mobile networks" (AllThingsCellular 2014), §3.2. The paper speaks of
    /// the downlink; here the uplink does the same.
    Seamless,
    /// The same for RLC UM, and COUNT begins anew: "seamless" in the words of 3GPP.
    SeamlessUm,
}

impl HandoverMode {
    /// The mode of RLC that it is for.
    #[must_use]
    pub const fn rlc(self) -> RlcMode {
        match self {
            Self::Lossless | Self::Seamless => RlcMode::Am,
            Self::SeamlessUm => RlcMode::Um,
        }
    }
}

/// What keeps a bearer from sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Suspension {
    /// The UE is between two cells.
    pub(super) away: bool,
    /// SN STATUS TRANSFER has not come yet.
    pub(super) without_sn_status: bool,
    /// The radio link has failed.
    pub(super) failed: bool,
}

/// What handovers did to a bearer so far. SDUs are counted with their PDCP headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandoverStatistics {
    /// SDUs that a source gave out to be forwarded, and their bytes.
    pub forwarded: u64,
    /// See `forwarded`.
    pub forwarded_bytes: u64,
    /// Packets that a re-establishment dropped, and their bytes.
    pub dropped: u64,
    /// See `dropped`.
    pub dropped_bytes: u64,
    /// SDUs that a status report kept from being sent again.
    pub spared: u64,
}

/// Where a re-establishment puts what it finds.
#[derive(Debug, Default)]
pub struct Departure {
    /// Downlink SDUs that the UE can deliver now.
    pub downlink: Vec<PacketRef>,
    /// Uplink SDUs that the source eNB can deliver now.
    pub uplink: Vec<PacketRef>,
    /// What has to be forwarded to the target, in this order.
    pub forwarded: Vec<NumberedSdu>,
    /// SN STATUS TRANSFER, for a bearer that keeps its COUNTs.
    pub sn_status: Option<SnStatusTransfer>,
}

impl RadioBearer {
    /// The UE leaves its cell, or begins anew in the same. Nothing is sent until it has arrived.
    ///
    /// # Panics
    /// If the mode is for another mode of RLC, or `out` still has something in it.
    pub fn leave(&mut self, cx: &mut Cx<'_>, mode: HandoverMode, out: &mut Departure) {
        let rlc = self.downlink.mode();
        assert_eq!(rlc, mode.rlc(), "a handover mode for another mode of RLC");
        let is_am = rlc == RlcMode::Am;
        assert!(out.forwarded.is_empty() && out.downlink.is_empty() && out.uplink.is_empty());
        let statistics = &mut self.handover;
        let forwarded = &mut out.forwarded;
        // What has a COUNT goes where that which was sent goes; order keeps COUNTs for a lossless one.
        let mut held = match mode {
            HandoverMode::Seamless => self.downlink.source.held_of_waiting(),
            HandoverMode::Lossless | HandoverMode::SeamlessUm => 0,
        };
        self.downlink.reestablish(cx, mode, statistics, &mut out.downlink, |sdu| forwarded.push(sdu));
        let mut uplink_again = Vec::new();
        self.uplink.reestablish(cx, mode, statistics, &mut out.uplink, |sdu| uplink_again.push(sdu));
        // The UE keeps what it has to send.
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
                    forwarded.push(NumberedSdu { count: None, size: sdu.size, packet: Some(sdu.packet) });
                }
            }
        }
        statistics.forwarded += forwarded.len() as u64;
        statistics.forwarded_bytes += forwarded.iter().map(|sdu| u64::from(sdu.size)).sum::<u64>();
        out.sn_status = is_am.then(|| SnStatusTransfer {
            e_rab: 5,
            uplink_count: self.uplink.first_missing(),
            downlink_count: self.downlink.source.sdus.next_count(),
            uplink_received: Vec::new(),
        });
        self.suspension = Suspension { away: true, without_sn_status: is_am, failed: false };
        self.update_timeout();
    }

    /// An SDU has come over X2. One with a COUNT is sent before all that have none; one that has
    /// none waits in the transmit queue, whose limit holds for it as for any other.
    pub fn accept_forwarded(&mut self, cx: &mut Cx<'_>, sdu: NumberedSdu) {
        let NumberedSdu { count, size, packet } = sdu;
        match (count, packet) {
            (Some(count), packet) => {
                // It may have been overtaken, so the UE has to look.
                self.downlink.begin_sorting();
                self.downlink.source.send_again(cx.now, count, size, packet);
            }
            (None, Some(packet)) => self.submit(cx, Direction::Downlink, packet),
            (None, None) => unreachable!("the receiver cannot have what was never sent"),
        }
    }

    /// SN STATUS TRANSFER has come over X2.
    pub fn accept_sn_status(&mut self, cx: &mut Cx<'_>, status: &SnStatusTransfer) {
        debug_assert_eq!(status.uplink_count, self.uplink.first_missing(), "the uplink moved meanwhile");
        self.downlink.source.sdus.set_next_count(status.downlink_count);
        self.suspension.without_sn_status = false;
        self.begin_reports(cx);
    }

    /// The UE has arrived at the target.
    pub fn arrive(&mut self, cx: &mut Cx<'_>) {
        self.suspension.away = false;
        self.begin_reports(cx);
    }

    /// The radio link has failed: nothing is sent until the UE has left this cell and arrived at one
    /// (TS 36.331 v17.0 §5.3.7.2).
    pub fn suspend(&mut self) {
        self.suspension.failed = true;
    }

    /// The UE begins anew in the cell that served it, which has all there is to send.
    ///
    /// # Panics
    /// As [`leave`](Self::leave) does.
    pub fn begin_anew(&mut self, cx: &mut Cx<'_>, mode: HandoverMode, out: &mut Departure) {
        self.leave(cx, mode, out);
        for sdu in out.forwarded.drain(..) {
            self.accept_forwarded(cx, sdu);
        }
        if let Some(status) = out.sn_status.take() {
            self.accept_sn_status(cx, &status);
        }
        self.arrive(cx);
    }

    /// True while SN STATUS TRANSFER is on its way.
    #[must_use]
    pub const fn awaits_sn_status(&self) -> bool {
        self.suspension.without_sn_status
    }

    /// True if nothing may be sent, because the radio link has failed, the UE is between two
    /// cells, or SN STATUS TRANSFER is still on its way.
    #[inline]
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.suspension != Suspension::default()
    }

    /// What handovers did so far.
    #[must_use]
    pub fn handover_statistics(&self) -> HandoverStatistics {
        self.handover
    }

    /// SDUs that arrived in this direction although they had arrived before.
    #[must_use]
    pub fn duplicates(&self, direction: Direction) -> u64 {
        self.way(direction).source.sdus.reception.duplicates()
    }

    /// True if no SDU, no report and no timer is left of any handover.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let settled = |way: &OneWay| way.source.again_len() == 0 && way.source.sdus.reception.is_idle();
        !self.is_suspended() && settled(&self.downlink) && settled(&self.uplink)
    }

    /// Once both ends may send, each tells the other first what it has
    /// (TS 36.323 v17.0 §5.3.1).
    fn begin_reports(&mut self, cx: &mut Cx<'_>) {
        if self.is_suspended() || !self.status_report {
            return;
        }
        for direction in [Direction::Downlink, Direction::Uplink] {
            let (way, back) = self.ways_mut(direction);
            let (sn_bits, reception) = (way.source.sn_bits(), &way.source.sdus.reception);
            // Only a lossless handover leaves anything to tell.
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

    /// Deals with what PDCP found while it put SDUs in order.
    #[cold]
    pub(super) fn after_sorting(&mut self, cx: &mut Cx<'_>, direction: Direction) {
        let statistics = &mut self.handover;
        let (way, back) = match direction {
            Direction::Downlink => (&mut self.downlink, &mut self.uplink),
            Direction::Uplink => (&mut self.uplink, &mut self.downlink),
        };
        while let Some(packet) = way.source.sdus.reception.take_late() {
            drop_packet(cx, packet, statistics);
        }
        let Some(pdu) = way.source.sdus.reception.take_report() else { return };
        let next_count = back.source.sdus.next_count();
        let report = StatusReport::decode(&pdu, back.source.sn_bits(), next_count)
            .expect("what the other end has encoded");
        statistics.spared += back.source.spare(|count| report.confirms(count));
        back.after_shrinking(cx);
    }
}

/// No handover mode is for it: PDCP without RLC's help cannot tell what has arrived.
const TM_STAYS: &str = "a bearer in transparent mode stays in its cell";

impl OneWay {
    /// The mode of RLC.
    fn mode(&self) -> RlcMode {
        match self.rlc {
            Rlc::Tm => RlcMode::Tm,
            Rlc::Um { .. } => RlcMode::Um,
            Rlc::Am { .. } => RlcMode::Am,
        }
    }

    /// What of the stream the receiver has.
    fn received(&self) -> Ranges {
        match &self.rlc {
            Rlc::Tm => unreachable!("{TM_STAYS}"),
            Rlc::Um { receiver, .. } => receiver.received(),
            Rlc::Am { transmitter, receiver, .. } => {
                let mut ranges = Ranges::until(transmitter.start_of(receiver.first_missing(), &self.source));
                receiver.add_received(&mut ranges);
                ranges
            }
        }
    }

    /// The COUNT that the receiver waits for.
    fn first_missing(&self) -> u32 {
        let sdus = &self.source.sdus;
        if sdus.reception.is_sorting() {
            return sdus.reception.next();
        }
        sdus.first_undelivered().unwrap_or(sdus.next_count())
    }

    /// From now on the receiver compares COUNTs.
    fn begin_sorting(&mut self) {
        let next = self.first_missing();
        let until = self.source.sdus.next_count();
        self.source.sdus.reception.begin(next, until);
    }

    /// Re-establishes both ends. `keep` is given what has a COUNT and is to be sent again.
    fn reestablish(
        &mut self,
        cx: &mut Cx<'_>,
        mode: HandoverMode,
        statistics: &mut HandoverStatistics,
        deliver: &mut Vec<PacketRef>,
        mut keep: impl FnMut(NumberedSdu),
    ) {
        let ranges = self.received();
        self.source.sdus.reception.lose_report();
        match mode {
            HandoverMode::Lossless => self.begin_sorting(),
            HandoverMode::Seamless | HandoverMode::SeamlessUm => {}
        }
        let mut begun = Vec::new();
        self.source.sdus.drain(&mut begun);
        let mut confirmed_so_far = true;
        for sdu in begun.into_iter().filter(|sdu| sdu.count != CONTROL) {
            let confirmed = self.is_confirmed(&sdu);
            confirmed_so_far &= confirmed;
            let is_complete = ranges.cover(sdu.from, sdu.to);
            let Drained { count, packet, from, to } = sdu;
            let numbered = |packet| NumberedSdu { count: Some(count), size: (to - from) as u32, packet };
            match mode {
                HandoverMode::Seamless | HandoverMode::SeamlessUm => match packet {
                    Some(packet) if is_complete => self.source.sdus.reception.store(count, packet),
                    Some(packet) => drop_packet(cx, packet, statistics),
                    None => {}
                },
                // TS 36.300 v17.0 §10.1.2.3.1: what the UE has not acknowledged.
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
                    // What RLC kept back behind a lost status report of PDCP it hands up now (TS 36.322 v17.0 §5.4).
                    if let Some(packet) = packet {
                        assert!(is_complete, "confirmed what has not come");
                        self.source.sdus.reception.store(count, packet);
                    }
                }
                // TS 36.323 v17.0 §5.2.1.1: all from the first that is not confirmed; the eNB has
                // discarded those that it has not delivered.
                HandoverMode::Lossless => keep(numbered(packet)),
            }
        }
        let mut left = Vec::new();
        self.source.drain_again(|_, sdu| left.push(sdu));
        for sdu in left {
            match (mode, sdu.packet) {
                (HandoverMode::Lossless, packet) => keep(NumberedSdu { packet, ..sdu }),
                (_, Some(packet)) => drop_packet(cx, packet, statistics),
                (_, None) => {}
            }
        }
        match mode {
            HandoverMode::Lossless => self.source.sdus.reception.advance(deliver),
            // What a gap keeps back is waited for by nobody: the gap will not be filled.
            HandoverMode::Seamless => self.source.sdus.reception.end(deliver),
            HandoverMode::SeamlessUm => {
                self.source.sdus.reception.end(deliver);
                self.source.sdus.set_next_count(0); // TS 36.323 v17.0 §5.2.1.2, §5.2.2.2
            }
        }
        self.restart_rlc();
    }

    fn is_confirmed(&self, sdu: &Drained) -> bool {
        match &self.rlc {
            Rlc::Tm | Rlc::Um { .. } => false,
            Rlc::Am { transmitter, .. } => {
                transmitter.has_confirmed(sdu.from, sdu.to, self.source.position())
            }
        }
    }

    fn restart_rlc(&mut self) {
        self.source.restart();
        let position = self.source.position();
        match &mut self.rlc {
            Rlc::Tm => unreachable!("{TM_STAYS}"),
            Rlc::Um { transmitter, receiver } => receiver.reestablish(transmitter.reestablish(), position),
            Rlc::Am { transmitter, receiver, .. } => receiver.reestablish(transmitter.reestablish()),
        }
    }

    /// Data that were to follow a PDU without a poll may not follow any more.
    #[cold]
    pub(super) fn after_shrinking(&mut self, cx: &Cx<'_>) {
        if let Rlc::Am { transmitter, .. } = &mut self.rlc {
            transmitter.handle_timeout(cx.now, &self.source);
        }
    }
}

fn drop_packet(cx: &mut Cx<'_>, packet: PacketRef, statistics: &mut HandoverStatistics) {
    statistics.dropped += 1;
    statistics.dropped_bytes += cx.pool.get(&packet).size.get();
    cx.discard(packet, DropCause::Handover);
}
