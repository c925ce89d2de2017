//! Dedicated bearers: their set-up, and admission.
//!
//! A bearer with a guaranteed bit rate needs a share of the resource blocks of the cell where its UE is when it is set up:
//! this rate, relative to the rate that the UE would have on the whole downlink, on one layer and with its mean SINR before
//! fading and without interference. The cell admits bearers as long as the sum of their shares is at most
//! [`GUARANTEED_SHARE`] (radio admission control, TS 36.300 §16.1.2 and TS 38.300 §16.8, which leave the algorithm to the
//! network; unverified). A flow whose bearer is rejected uses the default bearer.
//!
//! Not included: pre-emption by allocation and retention priority, the uplink, and admission by the target of a handover.

use airlane_core::{BitRate, Direction, Duration, FlowId, Instant, Seeds, UeId};

use super::capacity::DownlinkSlots;
use super::{Cell, RadioNetwork};
use crate::bearer::{BearerConfig, RlcConfig};
use crate::bearers::DedicatedBearerConfig;
use crate::build::SUBHEADER;
use crate::mac::phy::SlotFormat;
use crate::pdcp::nr::ReorderingConfig;
use crate::qos::QosClass;
use crate::rlc::UmConfig;
use crate::rlc::nr::{self, NrConfig, NrRlc};

/// The share of the resource blocks of a cell that bearers with guaranteed bit rates may need together (choice: the rest is
/// for retransmissions, fading and other bearers).
const GUARANTEED_SHARE: f64 = 0.8;

/// A flow that was given to the bearer of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BearerRequest {
    /// The UE.
    pub ue: UeId,
    /// The flow.
    pub flow: FlowId,
    /// Its class and rates.
    pub qos: DedicatedBearerConfig,
    /// False if the cell cannot guarantee the rate: the flow uses the default bearer.
    pub is_admitted: bool,
}

/// The bearers that were set up, or rejected.
#[derive(Debug, Default)]
pub(super) struct BearerControl {
    requests: Vec<BearerRequest>,
    /// By cell, the share of the resource blocks that guaranteed bit rates need; empty before the first.
    shares: Vec<f64>,
}

impl RadioNetwork {
    /// Sets up the bearer of a class for the packets of a flow, or adds the flow to it, with its rates. Returns false if the
    /// cell of its UE cannot guarantee the rate. The bearer has the settings of this cell's default bearers, and RLC in
    /// unacknowledged mode if the class tolerates its losses.
    ///
    /// # Panics
    /// If there is no such flow, or if its UE has all bearers that it may have.
    pub fn set_up_bearer(
        &mut self,
        flow: FlowId,
        qos: &DedicatedBearerConfig,
        now: Instant,
        seeds: Seeds,
    ) -> bool {
        let ue = self.flows[flow.index()].expect("a flow that was not removed");
        let is_admitted = qos.guaranteed.is_none_or(|rate| self.admit_rate(ue, rate, now));
        self.control.requests.push(BearerRequest { ue, flow, qos: *qos, is_admitted });
        if is_admitted {
            let ue = &mut self.ues[ue.index()];
            let cell = &self.cells[ue.cell().index()];
            let stream = |name: &str| seeds.stream(&format!("ue/{}/queue/{name}", ue.id.index()));
            ue.bearers.set_up(flow, qos, now, || of_class(cell, &qos.class), stream);
        }
        is_admitted
    }

    /// The flows that were given to bearers of classes, in the order of their set-up.
    #[must_use]
    pub fn bearer_requests(&self) -> &[BearerRequest] {
        &self.control.requests
    }

    /// Reserves the resource blocks for a guaranteed bit rate, if there are enough.
    fn admit_rate(&mut self, ue: UeId, rate: BitRate, now: Instant) -> bool {
        self.control.shares.resize(self.cells.len(), 0.0);
        let ue = &mut self.ues[ue.index()];
        let link = ue.links.primary_mut();
        let cell = &mut self.cells[link.cell.index()];
        let sinr = link.downlink.channel.mean_sinr(now, &mut ue.mobility);
        let share = rate.0 as f64 / whole_band_rate(cell, sinr);
        let reserved = &mut self.control.shares[link.cell.index()];
        let is_admitted = *reserved + share <= GUARANTEED_SHARE;
        if is_admitted {
            *reserved += share;
        }
        is_admitted
    }
}

/// The bits per second that the downlink of a cell carries on all its resource blocks and on one layer, with the MCS for
/// this SINR.
fn whole_band_rate(cell: &mut Cell, sinr: f32) -> f64 {
    let slots = DownlinkSlots::of(cell);
    let prbs = cell.config.resource_blocks;
    let (amc, _) = cell.phy.amc_and_sinr(Direction::Downlink);
    let mcs = amc.mcs_of[usize::from(amc.amc.wideband_cqi(&[sinr]).index() & 15)];
    let bytes =
        [SlotFormat::Whole, SlotFormat::Special].map(|format| match slots.with_blocks[format as usize] {
            0 => 0, // the tables may be without this format
            slots => slots * amc.blocks.downlink(1, format, mcs, prbs).get(),
        });
    8.0 * (bytes[0] + bytes[1]) as f64 / (cell.config.numerology.slot.as_secs_f64() * slots.all as f64)
}

/// A bearer of a class in a cell.
fn of_class(cell: &Cell, class: &QosClass) -> BearerConfig {
    let mut bearer = cell.config.bearer.clone();
    if cell.config.mac.subheaders {
        bearer.pdu_overhead = SUBHEADER;
    }
    if !class.is_acknowledged() {
        bearer.rlc = unacknowledged(bearer.rlc);
    }
    bearer
}

/// Timers of NR in unacknowledged mode: those of 5QI 1 and 2 in `configs/qos.yml` of srsRAN_Project at 02c940e.
const NR_REASSEMBLY: Duration = Duration::from_millis(50);
const NR_REORDERING: Duration = Duration::from_millis(80);

/// The same in unacknowledged mode, with the longest sequence numbers; in LTE with the same t-Reordering.
fn unacknowledged(rlc: RlcConfig) -> RlcConfig {
    match rlc {
        RlcConfig::Am(am) => RlcConfig::Um(UmConfig { sn_bits: 10, t_reordering: am.t_reordering }),
        RlcConfig::Nr(NrConfig { rlc: NrRlc::Am(_), reordering, sdap }) => {
            let um = nr::UmConfig { sn_bits: 12, t_reassembly: NR_REASSEMBLY };
            let reordering = ReorderingConfig { t_reordering: Some(NR_REORDERING), ..reordering };
            RlcConfig::Nr(NrConfig { rlc: NrRlc::Um(um), reordering, sdap })
        }
        other => other,
    }
}
