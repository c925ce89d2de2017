//! The uplink of a cell: access, power control, power headroom reports.

use airlane_core::{Decibel, Duration};
use airlane_radio::Mcs;
use airlane_ran::config::{self, HeadroomLayout, HeadroomReports, RequestLimit, UplinkAccess, UplinkConfig};
use airlane_settings::{Checked, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, Radio, tagged};
use crate::check::whole_slots;
use crate::quantity::{Power, Share, Size, Time};

/// Uplink power control (TS 36.213 §5.1.1).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PowerControl {
    /// Maximum transmit power, spread over the whole band.
    None,
    /// Open loop: the power compensates for a fraction of the path loss.
    OpenLoop(OpenLoop),
}
tagged!(PowerControl by "kind" { "none" => None, "open-loop" => OpenLoop(OpenLoop) });

/// Settings of open-loop power control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenLoop {
    /// Power per resource block without path loss.
    pub p0: Power,
    /// Fraction of the path loss that is compensated.
    pub alpha: Share,
}

/// Power headroom reports (TS 36.321 §5.4.6, TS 38.321 §5.4.6).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PowerHeadroom {
    /// No reports: the cell knows of no limit, and grants each UE its share of the band, as in ns-3.
    None,
    /// Reports: the cell grants no more resource blocks than the lowest MCS can be decoded on.
    Report(PowerHeadroomReport),
}
tagged!(PowerHeadroom by "kind" { "none" => None, "report" => Report(PowerHeadroomReport) });

/// Triggers of power headroom reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerHeadroomReport {
    /// phr-PeriodicTimer, in LTE periodicPHR-Timer: time from a report until the next one is due.
    pub phr_periodic_timer: PhrPeriodicTimer,
    /// phr-ProhibitTimer, in LTE prohibitPHR-Timer: time from a report during which a change of the path loss triggers
    /// none.
    pub phr_prohibit_timer: PhrProhibitTimer,
    /// dl-PathlossChange, in NR phr-Tx-PowerFactorChange: a report is due if the path loss has changed by more since the
    /// last one.
    pub dl_pathloss_change: PathlossChange,
}

/// Values of phr-PeriodicTimer (TS 36.331 and TS 38.331, `PHR-Config`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PhrPeriodicTimer {
    /// 10 ms.
    #[serde(rename = "10 ms")]
    Sf10,
    /// 20 ms.
    #[serde(rename = "20 ms")]
    Sf20,
    /// 50 ms.
    #[serde(rename = "50 ms")]
    Sf50,
    /// 100 ms.
    #[serde(rename = "100 ms")]
    Sf100,
    /// 200 ms.
    #[serde(rename = "200 ms")]
    Sf200,
    /// 500 ms.
    #[serde(rename = "500 ms")]
    Sf500,
    /// 1000 ms.
    #[serde(rename = "1000 ms")]
    Sf1000,
    /// Infinity.
    #[serde(rename = "infinity")]
    Infinity,
}

/// Values of phr-ProhibitTimer (TS 36.331 and TS 38.331, `PHR-Config`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PhrProhibitTimer {
    /// 0 ms.
    #[serde(rename = "0 ms")]
    Sf0,
    /// 10 ms.
    #[serde(rename = "10 ms")]
    Sf10,
    /// 20 ms.
    #[serde(rename = "20 ms")]
    Sf20,
    /// 50 ms.
    #[serde(rename = "50 ms")]
    Sf50,
    /// 100 ms.
    #[serde(rename = "100 ms")]
    Sf100,
    /// 200 ms.
    #[serde(rename = "200 ms")]
    Sf200,
    /// 500 ms.
    #[serde(rename = "500 ms")]
    Sf500,
    /// 1000 ms.
    #[serde(rename = "1000 ms")]
    Sf1000,
}

/// Values of dl-PathlossChange and phr-Tx-PowerFactorChange (TS 36.331 and TS 38.331, `PHR-Config`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PathlossChange {
    /// 1 dB.
    #[serde(rename = "1 dB")]
    Db1,
    /// 3 dB.
    #[serde(rename = "3 dB")]
    Db3,
    /// 6 dB.
    #[serde(rename = "6 dB")]
    Db6,
    /// Infinity.
    #[serde(rename = "infinity")]
    Infinity,
}

impl PhrPeriodicTimer {
    /// Its value.
    #[must_use]
    pub const fn milliseconds(self) -> Option<u64> {
        match self {
            Self::Sf10 => Some(10),
            Self::Sf20 => Some(20),
            Self::Sf50 => Some(50),
            Self::Sf100 => Some(100),
            Self::Sf200 => Some(200),
            Self::Sf500 => Some(500),
            Self::Sf1000 => Some(1000),
            Self::Infinity => None,
        }
    }
}

impl PhrProhibitTimer {
    /// Its value.
    #[must_use]
    pub const fn milliseconds(self) -> u64 {
        match self {
            Self::Sf0 => 0,
            Self::Sf10 => 10,
            Self::Sf20 => 20,
            Self::Sf50 => 50,
            Self::Sf100 => 100,
            Self::Sf200 => 200,
            Self::Sf500 => 500,
            Self::Sf1000 => 1000,
        }
    }
}

impl PathlossChange {
    /// Its value.
    #[must_use]
    pub const fn decibels(self) -> Option<f64> {
        match self {
            Self::Db1 => Some(1.0),
            Self::Db3 => Some(3.0),
            Self::Db6 => Some(6.0),
            Self::Infinity => None,
        }
    }
}

/// Uplink access: how a UE obtains grants.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Uplink {
    /// Scheduling requests on PUCCH, then a buffer status report with each transmission.
    SchedulingRequest(SchedulingRequest),
    /// No scheduling requests: the eNB sends a grant to each UE that has been inactive, as in
    /// OpenAirInterface.
    Polled(Polled),
    /// Configured grants of type 1: resource blocks at regular times for each UE, without scheduling request and grant.
    /// NR only.
    ConfiguredGrant(ConfiguredGrant),
    /// Buffer status reports reach the eNB out of band, without a grant, as in ns-3.
    IdealBufferStatus(IdealBufferStatus),
}
tagged!(Uplink by "kind" {
    "scheduling-request" => SchedulingRequest(SchedulingRequest),
    "polled" => Polled(Polled),
    "configured-grant" => ConfiguredGrant(ConfiguredGrant),
    "ideal-buffer-status" => IdealBufferStatus(IdealBufferStatus),
});

/// Settings of uplink access by scheduling request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulingRequest {
    /// Period of scheduling request opportunities of a UE (TS 36.213 §10.1.5).
    pub scheduling_request_period: Time,
    /// Delay from a scheduling request to the scheduling of the grant that answers it.
    pub processing: Time,
    /// Size of the first grant.
    pub initial_grant: Size,
    /// dsr-TransMax, in NR sr-TransMax: a UE that has sent this many requests without a grant begins random access (TS
    /// 36.321 §5.4.4, TS 38.321 §5.4.4). Only with `rrc` of kind `on-demand`, which has the settings of random access. By
    /// default, there is no limit: a UE waits for its grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub max_requests: Option<u32>,
    /// sr-ProhibitTimer, with `max_requests`: time from a request until the UE may send the next one. By default, a UE uses
    /// each opportunity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prohibit_timer: Option<Time>,
}

/// Settings of uplink access by polling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Polled {
    /// Time from the last transmission of a UE to an unsolicited grant.
    pub interval: Time,
    /// Size of the first grant.
    pub initial_grant: Size,
    /// Number of consecutive unsolicited grants after which the eNB serves the reported buffer status.
    pub polls: u32,
    /// Delay from the last of these reports to the scheduling of the grant that answers it.
    pub processing: Time,
}

/// Settings of uplink access by configured grants (TS 38.321 section 5.8.2). The block of an occasion has a buffer status
/// report; dynamic grants follow for the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfiguredGrant {
    /// Time between the occasions of a UE. An occasion in a slot without an uplink is in the next one that has.
    pub period: Time,
    /// Time of the first occasion of the first UE. The second UE has it one slot later, and so on.
    pub offset: Time,
    /// Least size of the transport block. The occasion has as many resource blocks as that needs.
    pub size: Size,
    /// Modulation and coding scheme of the transport block.
    pub mcs: u8,
}

/// Settings of out-of-band buffer status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdealBufferStatus {
    /// Delay of a buffer status report.
    pub report_delay: Time,
}

impl SchedulingRequest {
    fn check_limit(&self, slot: Duration, at: &Place<'_>) -> Checked {
        if let Some(timer) = self.prohibit_timer {
            let help = "add `max_requests`, or leave it out";
            at.require(self.max_requests.is_some(), "prohibit_timer", "no request is repeated", help)?;
            whole_slots(at, slot, timer, "prohibit_timer", 0)?;
        }
        let most = self.max_requests.is_none_or(|most| (1..=64).contains(&most));
        let help = "it must be from 1 to 64 (TS 36.331 section 6.3.2, TS 38.331 section 6.3.2)";
        at.require(most, "max_requests", "out of range", help)
    }
}

impl Uplink {
    /// Whether UEs whose requests are not answered begin random access.
    pub(crate) const fn limits_requests(&self) -> bool {
        matches!(self, Self::SchedulingRequest(SchedulingRequest { max_requests: Some(_), .. }))
    }

    /// The rules of the keys of uplink access.
    pub(crate) fn check(&self, slot: Duration, at: &Place<'_>) -> Checked {
        let first_grant = |size: Size| {
            let grant = (1..=1500).contains(&size.0.get());
            at.require(grant, "initial_grant", "out of range", "it must be from 1 B to 1500 B")
        };
        match self {
            Self::SchedulingRequest(u) => {
                whole_slots(at, slot, u.scheduling_request_period, "scheduling_request_period", 1)?;
                whole_slots(at, slot, u.processing, "processing", 0)?;
                u.check_limit(slot, at)?;
                first_grant(u.initial_grant)
            }
            Self::Polled(u) => {
                whole_slots(at, slot, u.interval, "interval", 1)?;
                whole_slots(at, slot, u.processing, "processing", 0)?;
                let polls = (1..=100).contains(&u.polls);
                at.require(polls, "polls", "out of range", "it must be from 1 to 100")?;
                first_grant(u.initial_grant)
            }
            Self::ConfiguredGrant(u) => {
                whole_slots(at, slot, u.period, "period", 1)?;
                whole_slots(at, slot, u.offset, "offset", 0)?;
                at.require(u.offset < u.period, "offset", "not within a period", "it must be below `period`")
            }
            Self::IdealBufferStatus(u) => whole_slots(at, slot, u.report_delay, "report_delay", 0),
        }
    }
}

/// The configuration of the uplink of a cell.
pub(super) fn config(cell: &Cell) -> UplinkConfig {
    let mac = &cell.mac;
    UplinkConfig {
        access: access(cell),
        pucch_resource_blocks: mac.pucch_resource_blocks,
        grants_per_slot: mac.grants_per_slot,
        amc: mac.uplink_amc.config(),
        sounding_period: cell.slots(mac.sounding_period),
        power_control: match &mac.power_control {
            PowerControl::None => None,
            PowerControl::OpenLoop(loop_) => {
                Some(config::PowerControl { p0: loop_.p0.0 + cell.power_of_prb(), alpha: loop_.alpha.0 })
            }
        },
        headroom: headroom(cell),
    }
}

/// The uplink access of a cell.
fn access(cell: &Cell) -> UplinkAccess {
    let slots = |time| cell.slots(time);
    match &cell.uplink {
        Uplink::SchedulingRequest(u) => UplinkAccess::SchedulingRequest {
            period: slots(u.scheduling_request_period),
            processing: slots(u.processing),
            initial_grant: u.initial_grant.0,
            limit: u
                .max_requests
                .map(|most| RequestLimit { prohibit: u.prohibit_timer.map_or(0, slots), most }),
        },
        Uplink::Polled(u) => UplinkAccess::Polled {
            interval: slots(u.interval),
            initial_grant: u.initial_grant.0,
            polls: u.polls,
            processing: slots(u.processing),
        },
        Uplink::ConfiguredGrant(u) => UplinkAccess::ConfiguredGrant {
            period: slots(u.period),
            offset: slots(u.offset),
            size: u.size.0,
            mcs: Mcs::new(u.mcs),
        },
        Uplink::IdealBufferStatus(u) => UplinkAccess::IdealBufferStatus { delay: slots(u.report_delay) },
    }
}

/// The power headroom reports of UEs.
fn headroom(cell: &Cell) -> Option<HeadroomReports> {
    let PowerHeadroom::Report(report) = &cell.mac.power_headroom else { return None };
    let layout = match cell.radio {
        Some(Radio::Nr(_)) => HeadroomLayout::Nr,
        Some(Radio::Lte) | None => HeadroomLayout::Lte,
    };
    Some(HeadroomReports {
        layout,
        periodic: report.phr_periodic_timer.milliseconds().map(Duration::from_millis),
        prohibit: Duration::from_millis(report.phr_prohibit_timer.milliseconds()),
        path_loss_change: report.dl_pathloss_change.decibels().map(Decibel),
    })
}
