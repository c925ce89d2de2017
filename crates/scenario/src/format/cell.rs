//! Cells: place, antenna, carrier, bearers of L4S, throttling.

use airlane_core::{BitRate, CellId};
use airlane_radio::layers::LineOfSight;
use airlane_ran::bearer::BearerConfig;
use airlane_ran::bearers::L4sBearerConfig;
use airlane_ran::config::{self, CellConfig, ThrottleConfig};
use airlane_ran::scheduler::OwnScheduler;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ue::position;
use super::{
    Aqm, BandwidthParts, CellOutage, Drx, Mac, Pdcp, Radio, Rlc, Rrc, Scheduler, Shedding, Uplink, mac, rlc,
    service, tagged,
};
use crate::quantity::{Angle, Frequency, Gain, Metres, Power, Rate, Size, Time};

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Name of the cell in the results.
    pub name: String,
    /// Position of the antenna.
    pub position: [Metres; 2],
    /// Height of the antenna.
    pub height: Metres,
    /// Antenna pattern.
    pub antenna: Antenna,
    /// Path of a raster with the path loss to each place in dB, relative to the scenario file: an ESRI ASCII grid in the
    /// metres of positions. It replaces the path loss and the shadowing of `[channel]` in both directions; the gain of
    /// `antenna` is added. Places without a value do not receive the cell. By default, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_loss_map: Option<String>,
    /// Radio access technology. By default, it is that of the network's preset. In a network of the other one, the
    /// defaults of the cell are those of `typical` or of `nr-typical-fr1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<Radio>,
    /// Channel bandwidth of either direction, in the place of `resource_blocks`: 1.4, 3, 5, 10, 15 or 20 MHz in LTE;
    /// in NR 5 to 50 MHz at 15 kHz, 5 to 100 MHz at 30 kHz, 10 to 200 MHz at 60 kHz, 50 to 400 MHz at 120 kHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1.4 MHz", "3 MHz", "5 MHz", "10 MHz", "15 MHz", "20 MHz", "100 MHz"]))]
    pub bandwidth: Option<Frequency>,
    /// Bandwidth of either direction in physical resource blocks: 6, 15, 25, 50, 75 or 100 in LTE, 11 to 275 in NR.
    #[schemars(range(min = 6, max = 275))]
    pub resource_blocks: u16,
    /// Downlink transmit power over the whole bandwidth.
    pub tx_power: Power,
    /// Noise figure of the receiver.
    pub noise_figure: Gain,
    /// Downlink carrier frequency.
    pub frequency: Frequency,
    /// Uplink carrier frequency.
    pub uplink_frequency: Frequency,
    /// The scheduler of the MAC.
    pub scheduler: Scheduler,
    /// Throttling of active UEs while many bearers are set up. By default, there is none.
    pub early_throttling: Option<EarlyThrottling>,
    /// Discontinuous reception (DRX): when connected UEs listen.
    #[serde(default, skip_serializing_if = "Drx::is_none")]
    pub drx: Drx,
    /// Bandwidth parts, in NR: UEs use the whole carrier only while there is much data. By default, they always use it. The
    /// primary cell of a UE with several carriers has none for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_parts: Option<BandwidthParts>,
    /// RRC: when UEs are connected.
    #[serde(default, skip_serializing_if = "Rrc::is_always_connected")]
    pub rrc: Rrc,
    /// Transmission mode of the downlink; `siso` in NR.
    pub transmission_mode: TransmissionMode,
    /// Hybrid ARQ.
    pub harq: bool,
    /// Whether UEs can fail to decode downlink assignments and uplink grants.
    pub control_errors: bool,
    /// Timing and rules of the MAC and of link adaptation.
    pub mac: Mac,
    /// Uplink access: how a UE obtains grants.
    pub uplink: Uplink,
    /// Radio link control (RLC) of the UEs' bearers.
    pub rlc: Rlc,
    /// Packet data convergence protocol (PDCP) of the UEs' bearers.
    pub pdcp: Pdcp,
    /// A second bearer of each UE, for packets with ECT(1) or CE, with the other settings of `rlc` and `pdcp`. The
    /// bearers of a UE are those of the cell where it starts. By default, all packets use one bearer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l4s_bearer: Option<L4sBearer>,
    /// Whether the cell serves no UE and transmits on all resource blocks in each slot. It represents
    /// interference from outside the simulated area.
    pub interferer: bool,
    /// Maximum number of UEs. The cell rejects handovers of more UEs. By default, there is no limit.
    pub max_ues: Option<u32>,
    /// Names of the neighbour cells that the UEs of this cell report. By default, these are all other cells.
    pub neighbours: Option<Vec<String>>,
    /// Intervals in which the radio is off: the cell neither sends nor receives, and its UEs lose it. The eNB
    /// behind it keeps their contexts and packets. Without `[handover]` the UEs wait until the radio is on
    /// again. By default, there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outages: Option<Vec<CellOutage>>,
    /// Intervals in which the cell hands UEs over to their best neighbours, whatever they report. By
    /// default, there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shedding: Option<Vec<Shedding>>,
}

/// An antenna.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Antenna {
    /// Omnidirectional antenna.
    Omni(Omni),
    /// Sector antenna of 3GPP TR 25.814.
    Sector(Sector),
    /// Panel of elements with horizontal and vertical pattern of 3GPP TR 38.901 and TR 36.873.
    Panel(Panel),
}
tagged!(Antenna by "kind" { "omni" => Omni(Omni), "sector" => Sector(Sector), "panel" => Panel(Panel) });

/// Settings of an omnidirectional antenna.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Omni {
    /// Gain over an isotropic antenna.
    pub gain: Gain,
}

/// Settings of a sector antenna.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sector {
    /// Maximum gain over an isotropic antenna, in the direction of `azimuth`.
    pub gain: Gain,
    /// Direction of the main lobe: 0 deg is the positive first coordinate, 90 deg the positive second.
    pub azimuth: Angle,
    /// 3 dB beamwidth.
    pub beamwidth: Angle,
    /// Front-to-back ratio.
    pub front_to_back: Gain,
}

/// Settings of a panel: elements of 8 dBi and 65 deg beamwidth in rows and columns, which transmit together (TR 38.901
/// Table 7.3-1, TR 36.873 clause 7.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Number of elements above each other.
    #[schemars(range(min = 1, max = 256))]
    pub rows: u32,
    /// Number of elements next to each other.
    #[schemars(range(min = 1, max = 256))]
    pub columns: u32,
    /// Distance of the rows in wavelengths.
    pub row_spacing: f64,
    /// Distance of the columns in wavelengths.
    pub column_spacing: f64,
    /// Direction of the main lobe: 0 deg is the positive first coordinate, 90 deg the positive second.
    pub azimuth: Angle,
    /// Electrical downtilt of the rows: the angle of the main lobe below the horizon.
    pub downtilt: Angle,
}

/// A second bearer of each UE, for packets with ECT(1) or CE.
///
/// Blocks take data by logical channel prioritization (TS 36.321 section 5.4.3.1), in both directions. The L4S bearer
/// has the higher priority: first each bearer gets its prioritised bit rate, then the L4S bearer gets the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct L4sBearer {
    /// Size of the transmission buffer.
    pub buffer: Size,
    /// Queue discipline of the transmission buffer. It is not coupled to that of the other bearer.
    pub aqm: Aqm,
    /// Prioritised bit rate of this bearer, for one UE and one direction. By default, there is none: its priority is
    /// higher anyway.
    pub rate: Option<Rate>,
    /// Prioritised bit rate of the other bearer, for one UE and one direction. The other bearer gets it even if this
    /// one could use all blocks.
    pub default_rate: Rate,
    /// Bucket size duration: time over which a bearer may make up for a prioritised bit rate that it has not used.
    pub bucket: Time,
}

/// Throttling of active UEs before newly arrived UEs have data.
///
/// An option of the simulator after an idea in section 3.1 of Nguyen et al., AllThingsCellular 2014.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EarlyThrottling {
    /// Number of new bearers that starts the throttling. A bearer is set up with the first packet of its UE.
    pub bearers: u32,
    /// Window of time in which these bearers are set up.
    pub within: Time,
    /// Time over which the share of the active UEs is reduced to the share they will have with the new UEs.
    pub ramp: Time,
    /// How long the active UEs keep the reduced share.
    pub hold: Time,
    /// The quantity that is reduced for the active UEs.
    pub by: ThrottleBy,
}

/// What early throttling reduces for active UEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThrottleBy {
    /// The share of slots in which they are scheduled.
    Share,
    /// The size of their queues.
    Queue,
}

/// Transmission mode of the downlink (TS 36.213 §7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TransmissionMode {
    /// One antenna.
    Siso,
    /// Transmit diversity from two antennas.
    Tm2,
    /// Open-loop spatial multiplexing: two layers.
    Tm3,
}

impl Cell {
    /// Whether UEs of the cell sleep.
    #[must_use]
    pub fn sleeps(&self) -> bool {
        !self.drx.is_none() || !self.rrc.is_always_connected()
    }

    /// The configuration of the cell, one of `all`. `sight` is the line of sight of its channel, and `own` finds a
    /// scheduler policy of the user by its name.
    pub fn config(&self, all: &[Cell], sight: LineOfSight, own: impl Fn(&str) -> OwnScheduler) -> CellConfig {
        let (numerology, tables) = self.numerology();
        let [layers, uplink_layers] = self.layers(sight);
        CellConfig {
            numerology,
            tables,
            processing: self.processing(),
            position: position(self.position, self.height),
            antenna: self.antenna.config(),
            path_loss_map: None, // read where the network is built
            resource_blocks: self.resource_blocks,
            tx_power: self.tx_power.0,
            noise_figure: self.noise_figure.0,
            downlink_hz: self.frequency.0,
            uplink_hz: self.uplink_frequency.0,
            scheduler: self.scheduler.kind(own),
            early_throttling: self.early_throttling.as_ref().map(EarlyThrottling::config),
            drx: self.drx.config(),
            bandwidth_parts: self.bandwidth_parts.as_ref().map(BandwidthParts::config),
            connection: self.rrc.config(),
            meters_energy: false,
            transmission_mode: self.transmission_mode.config(),
            layers,
            uplink_layers,
            mac: mac::config(self),
            bearer: rlc::bearer(self),
            l4s_bearer: self.l4s_bearer.as_ref().map(|l4s| L4sBearerConfig {
                bearer: BearerConfig { buffer: l4s.buffer.0, aqm: l4s.aqm.discipline(), ..rlc::bearer(self) },
                rate: l4s.rate.map_or(BitRate(0), |rate| rate.0),
                default_rate: l4s.default_rate.0,
                bucket: l4s.bucket.0,
            }),
            max_ues: self.max_ues,
            interferer: self.interferer,
            neighbours: self
                .neighbours
                .as_ref()
                .map(|names| names.iter().map(|name| id(name, all)).collect()),
            service: service::changes(self),
        }
    }

    /// A time in slots of the cell; the check ensures that it is an integer in range.
    pub(super) fn slots(&self, time: Time) -> u32 {
        let slots = time.0.as_nanos() / self.slot().as_nanos();
        u32::try_from(slots).expect("checked when the scenario was resolved")
    }
}

/// A cell by its name, which has been checked.
fn id(name: &str, all: &[Cell]) -> CellId {
    let index = all.iter().position(|cell| cell.name == *name);
    CellId(index.expect("checked when the scenario was resolved") as u32)
}

impl Antenna {
    /// The direction of the main lobe; `None` for an omnidirectional antenna.
    pub(super) fn azimuth(&self) -> Option<Angle> {
        match self {
            Self::Omni(_) => None,
            Self::Sector(sector) => Some(sector.azimuth),
            Self::Panel(panel) => Some(panel.azimuth),
        }
    }

    fn config(&self) -> airlane_radio::Antenna {
        match self {
            Self::Omni(omni) => airlane_radio::Antenna::Omni { gain: omni.gain.0 },
            Self::Sector(sector) => airlane_radio::Antenna::Sector(airlane_radio::Sector {
                gain: sector.gain.0,
                azimuth_deg: sector.azimuth.0,
                beamwidth_deg: sector.beamwidth.0,
                front_to_back: sector.front_to_back.0,
            }),
            Self::Panel(panel) => airlane_radio::Antenna::Panel {
                panel: airlane_radio::panel::Panel {
                    rows: panel.rows,
                    columns: panel.columns,
                    row_spacing: panel.row_spacing,
                    column_spacing: panel.column_spacing,
                    tilt_deg: 90.0 + panel.downtilt.0,
                },
                azimuth_deg: panel.azimuth.0,
            },
        }
    }
}

impl EarlyThrottling {
    fn config(&self) -> ThrottleConfig {
        ThrottleConfig {
            bearers: self.bearers,
            within: self.within.0,
            ramp: self.ramp.0,
            hold: self.hold.0,
            by: match self.by {
                ThrottleBy::Share => config::ThrottleBy::Share,
                ThrottleBy::Queue => config::ThrottleBy::Queue,
            },
        }
    }
}

impl TransmissionMode {
    const fn config(self) -> airlane_radio::TransmissionMode {
        match self {
            Self::Siso => airlane_radio::TransmissionMode::SingleAntenna,
            Self::Tm2 => airlane_radio::TransmissionMode::TransmitDiversity,
            Self::Tm3 => airlane_radio::TransmissionMode::SpatialMultiplexing,
        }
    }
}
