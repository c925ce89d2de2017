//! The bodies as JSON.

use std::borrow::Cow;

use airlane_core::{Bytes, CellUse, FlowId, Instant};
use serde::{Deserialize, Serialize};

use super::{HARQ_MAX, Harq, Rejected, Subscription, UeRecord};

/// The longest body that is decoded.
const LENGTH_MAX: usize = 4096;
/// `AssociateIdType` of a UE's IPv4 address (GS MEC 012 V2.2.1 §6.5.4).
const UE_IPV4_ADDRESS: u8 = 1;
/// CQI indices (TS 36.213 v17.0 Table 7.2.3-1).
const CQI_MAX: u8 = 15;
/// MCS indices (TS 36.213 v17.0 Table 7.1.7.1-1).
const MCS_MAX: u8 = 31;
/// Largest number of resource blocks: in NR (TS 38.331 §6.3.2, maxNrofPhysicalResourceBlocks).
const PRBS_MAX: u16 = 275;
/// More than the largest transport block: of NR, with 156 elements of 8 bits in each of these blocks on four layers (TS
/// 38.214 §5.1.3.2).
const BLOCK_MAX: u64 = 4 * 275 * 156;
/// maxHARQ-Tx (TS 36.331 v17.0 §6.3.2, n28).
const TRANSMISSIONS_MAX: u8 = 28;
/// The E-UTRAN cell identity has 28 bits (TS 36.413 v17.0 §9.2.1.38).
const CELL_MAX: u32 = 0x0fff_ffff;
/// The test network (ITU-T E.212, shared codes).
const PLMN: (&str, &str) = ("001", "01");
/// Types of our notification and our subscription; those of the standard have other names.
const NOTIFICATION: &str = "UeMacNotification";
const SUBSCRIPTION: &str = "UeMacSubscription";
const CALLBACK: &str = "/flows/";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TimeStamp {
    seconds: u64,
    nano_seconds: u32,
}

impl From<Instant> for TimeStamp {
    fn from(at: Instant) -> Self {
        let nanos = at.as_nanos();
        Self { seconds: nanos / 1_000_000_000, nano_seconds: (nanos % 1_000_000_000) as u32 }
    }
}

impl TimeStamp {
    fn instant(&self) -> Option<Instant> {
        let whole = self.seconds.checked_mul(1_000_000_000)?;
        let part = (self.nano_seconds < 1_000_000_000).then_some(u64::from(self.nano_seconds))?;
        Some(Instant::from_nanos(whole.checked_add(part)?))
    }
}

#[derive(Serialize, Deserialize)]
struct AssociateId<'a> {
    #[serde(rename = "type")]
    kind: u8,
    #[serde(borrow)]
    value: Cow<'a, str>,
}

impl AssociateId<'_> {
    fn of(address: [u8; 4]) -> Self {
        let [a, b, c, d] = address;
        Self { kind: UE_IPV4_ADDRESS, value: format!("{a}.{b}.{c}.{d}").into() }
    }

    fn address(&self) -> Option<[u8; 4]> {
        let address: core::net::Ipv4Addr = self.value.parse().ok()?;
        (self.kind == UE_IPV4_ADDRESS).then_some(address.octets())
    }
}

/// The first IPv4 address among the identifiers.
fn address(ids: &[AssociateId<'_>]) -> Result<[u8; 4], Rejected> {
    ids.iter().find_map(AssociateId::address).ok_or(Rejected::Malformed)
}

#[derive(Serialize, Deserialize)]
struct Plmn<'a> {
    #[serde(borrow)]
    mcc: Cow<'a, str>,
    #[serde(borrow)]
    mnc: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ecgi<'a> {
    #[serde(borrow)]
    plmn: Plmn<'a>,
    #[serde(borrow)]
    cell_id: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
struct LinkType<'a> {
    #[serde(borrow)]
    href: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
struct Links<'a> {
    #[serde(borrow)]
    subscription: LinkType<'a>,
}

/// The extension (§2.2).
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UeMac {
    cqi: u8,
    mcs: u8,
    tbs_bytes: u64,
    prbs: u16,
    rlc_queue_bytes: u64,
    harq_transmissions: Vec<u8>,
}

/// The use of the cell (§2.3).
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Use {
    offered_prbs: u64,
    used_prbs: u64,
    ue_prbs: u64,
    repeated_prbs: u64,
    ue_bytes: u64,
    active_ues: u16,
}

impl From<CellUse> for Use {
    fn from(known: CellUse) -> Self {
        let CellUse { offered_prbs, used_prbs, ue_prbs, repeated_prbs, ue_bytes, active_ues } = known;
        Self { offered_prbs, used_prbs, ue_prbs, repeated_prbs, ue_bytes, active_ues }
    }
}

impl Use {
    fn counts(&self) -> Result<CellUse, Rejected> {
        let &Self { offered_prbs, used_prbs, ue_prbs, repeated_prbs, ue_bytes, active_ues } = self;
        let possible = repeated_prbs <= ue_prbs && ue_prbs <= used_prbs && active_ues > 0;
        let counts = CellUse { offered_prbs, used_prbs, ue_prbs, repeated_prbs, ue_bytes, active_ues };
        possible.then_some(counts).ok_or(Rejected::Impossible)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notification<'a> {
    #[serde(borrow)]
    notification_type: Cow<'a, str>,
    time_stamp: TimeStamp,
    #[serde(borrow, rename = "_links")]
    links: Links<'a>,
    #[serde(borrow)]
    ecgi: Ecgi<'a>,
    #[serde(borrow)]
    associate_id: Vec<AssociateId<'a>>,
    #[serde(rename = "x-airlane-ue-mac")]
    mac: UeMac,
    #[serde(rename = "x-airlane-cell-use", default, skip_serializing_if = "Option::is_none")]
    cell_use: Option<Use>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filter<'a> {
    #[serde(borrow)]
    associate_id: Vec<AssociateId<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubscriptionBody<'a> {
    #[serde(borrow)]
    subscription_type: Cow<'a, str>,
    #[serde(borrow)]
    callback_reference: Cow<'a, str>,
    #[serde(borrow)]
    filter_criteria_assoc: Filter<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expiry_deadline: Option<TimeStamp>,
}

fn write(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("its keys are text and it is written to memory")
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Rejected> {
    if bytes.len() > LENGTH_MAX {
        return Err(Rejected::Malformed);
    }
    serde_json::from_slice(bytes).map_err(|_| Rejected::Malformed)
}

pub(super) fn encode_record(record: &UeRecord, subscription: u32) -> Vec<u8> {
    let href = format!("/rni/v2/subscriptions/{subscription}").into();
    write(&Notification {
        notification_type: NOTIFICATION.into(),
        time_stamp: record.measured_at.into(),
        links: Links { subscription: LinkType { href } },
        ecgi: Ecgi {
            plmn: Plmn { mcc: PLMN.0.into(), mnc: PLMN.1.into() },
            cell_id: format!("{:07x}", record.cell).into(),
        },
        associate_id: vec![AssociateId::of(record.ue)],
        mac: UeMac {
            cqi: record.cqi,
            mcs: record.mcs,
            tbs_bytes: record.block.get(),
            prbs: record.prbs,
            rlc_queue_bytes: record.queue.get(),
            harq_transmissions: record.harq.as_slice().to_vec(),
        },
        cell_use: record.cell_use.map(Use::from),
    })
}

pub(super) fn decode_record(bytes: &[u8]) -> Result<UeRecord, Rejected> {
    let said: Notification<'_> = read(bytes)?;
    if said.notification_type != NOTIFICATION {
        return Err(Rejected::Malformed);
    }
    let mac = &said.mac;
    let cell = u32::from_str_radix(&said.ecgi.cell_id, 16).map_err(|_| Rejected::Malformed)?;
    let possible = mac.cqi <= CQI_MAX
        && mac.mcs <= MCS_MAX
        && mac.prbs <= PRBS_MAX
        && mac.tbs_bytes <= BLOCK_MAX
        && mac.harq_transmissions.len() <= HARQ_MAX
        && mac.harq_transmissions.iter().all(|sent| *sent <= TRANSMISSIONS_MAX)
        && cell <= CELL_MAX;
    if !possible {
        return Err(Rejected::Impossible);
    }
    Ok(UeRecord {
        measured_at: said.time_stamp.instant().ok_or(Rejected::Impossible)?,
        ue: address(&said.associate_id)?,
        cell,
        cqi: mac.cqi,
        mcs: mac.mcs,
        block: Bytes(mac.tbs_bytes),
        prbs: mac.prbs,
        queue: Bytes(mac.rlc_queue_bytes),
        harq: Harq::new(mac.harq_transmissions.iter().copied()),
        cell_use: said.cell_use.as_ref().map(Use::counts).transpose()?,
    })
}

pub(super) fn encode_subscription(subscription: &Subscription) -> Vec<u8> {
    write(&SubscriptionBody {
        subscription_type: SUBSCRIPTION.into(),
        callback_reference: format!("{CALLBACK}{}", subscription.flow.0).into(),
        filter_criteria_assoc: Filter { associate_id: vec![AssociateId::of(subscription.ue)] },
        expiry_deadline: subscription.until.map(TimeStamp::from),
    })
}

pub(super) fn decode_subscription(bytes: &[u8]) -> Result<Subscription, Rejected> {
    let asked: SubscriptionBody<'_> = read(bytes)?;
    let flow = asked.callback_reference.strip_prefix(CALLBACK).and_then(|number| number.parse().ok());
    if asked.subscription_type != SUBSCRIPTION {
        return Err(Rejected::Malformed);
    }
    let until = match asked.expiry_deadline {
        Some(deadline) => Some(deadline.instant().ok_or(Rejected::Impossible)?),
        None => None,
    };
    Ok(Subscription {
        flow: FlowId(flow.ok_or(Rejected::Malformed)?),
        ue: address(&asked.filter_criteria_assoc.associate_id)?,
        until,
    })
}
