//! Subscriptions: their bodies, and the events that belong to them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::body::{AssociateId, Ecgi, Integer, TimeStamp, Trigger, TriggerNr, some};
use super::problem::Problem;

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Link {
    #[serde(rename = "href")]
    _href: String,
}

/// The links of a subscription; a client's are read and not used.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Links {
    #[serde(rename = "self")]
    _own: Link,
}

/// Notifications over a WebSocket: GS MEC 012 V2.2.1, `WebsockNotifConfig`. (As in the OpenAPI of AdvantEDGE's
/// client; unverified.)
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WebsockNotifConfig {
    #[serde(default, deserialize_with = "some")]
    request_websocket_uri: Option<bool>,
}

/// The body of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(flatten)]
    criteria: Criteria,
    #[serde(default, deserialize_with = "some")]
    callback_reference: Option<String>,
    #[serde(default, deserialize_with = "some")]
    expiry_deadline: Option<TimeStamp>,
    #[serde(rename = "_links", default, deserialize_with = "some")]
    _links: Option<Links>,
    #[serde(default, deserialize_with = "some")]
    websock_notif_config: Option<WebsockNotifConfig>,
    #[serde(default, deserialize_with = "some")]
    request_test_notification: Option<bool>,
}

/// `FilterCriteriaAssoc`: what many filters have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Assoc {
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    app_instance_id: Option<String>,
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    associate_id: Option<Vec<AssociateId>>,
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    ecgi: Option<Vec<Ecgi>>,
}

impl Assoc {
    /// The values that the filter admits; `cell_of` gives the cell of the UE of a value. A filter with UEs looks at
    /// these only.
    pub(super) fn choose<'a, T>(
        &self,
        by_ue: &BTreeMap<[u8; 4], &'a T>,
        cell_of: impl Fn(&T) -> u32,
    ) -> Vec<&'a T> {
        let admitted = |ue: [u8; 4]| by_ue.get(&ue).copied().filter(|one| self.admits(ue, &[cell_of(one)]));
        match self.associate_id.as_ref().filter(|ids| !ids.is_empty()) {
            Some(ids) => ids.iter().filter_map(AssociateId::address).filter_map(admitted).collect(),
            None => by_ue.keys().copied().filter_map(admitted).collect(),
        }
    }

    /// Whether the filter admits a UE in one of these cells.
    fn admits(&self, ue: [u8; 4], cells: &[u32]) -> bool {
        is_ue(self.associate_id.as_ref(), ue) && is_cell(self.ecgi.as_ref(), cells)
    }
}

/// `FilterCriteriaAssocHo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AssocHo {
    #[serde(flatten)]
    assoc: Assoc,
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    ho_status: Option<Vec<Integer>>,
}

/// `FilterCriteriaAssocTri`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AssocTri {
    #[serde(flatten)]
    assoc: Assoc,
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    trigger: Option<Vec<Trigger>>,
}

/// `NRcgi`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Nrcgi {
    nrcell_id: String,
    plmn: super::body::Plmn,
}

/// `FilterCriteriaNrMrs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NrMrs {
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    app_instance_id: Option<String>,
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    associate_id: Option<Vec<AssociateId>>,
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    nrcgi: Option<Vec<Nrcgi>>,
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    trigger_nr: Option<Vec<TriggerNr>>,
}

/// `FilterCriteriaQci`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Qci {
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    app_instance_id: Option<String>,
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    ecgi: Option<Vec<Ecgi>>,
    qci: Integer,
}

impl Qci {
    fn admits(&self, event: &Event) -> bool {
        is_cell(self.ecgi.as_ref(), &event.cells) && event.qci == Some(self.qci.0)
    }
}

/// `FilterCriteriaQci1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QciErab {
    #[serde(flatten)]
    bearers: Qci,
    erab_id: Integer,
}

/// `S1BearerSubscriptionCriteria`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct S1Bearer {
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    associate_id: Option<Vec<AssociateId>>,
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    ecgi: Option<Vec<Ecgi>>,
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    erab_id: Option<Vec<Integer>>,
}

/// The types of subscriptions. A line has the value of the parameter `subscription_type`, the type, and its criteria.
macro_rules! types {
    ($($value:literal $name:ident { $($(#[$attribute:meta])* $field:ident: $criteria:ty),* })*) => {
        /// The type of a subscription with its criteria.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "subscriptionType", rename_all_fields = "camelCase")]
        #[expect(clippy::enum_variant_names, reason = "the names of the standard")]
        pub(super) enum Criteria {
            $($name { $($(#[$attribute])* $field: $criteria),* }),*
        }

        /// The values of `subscription_type` with the types that they choose.
        const TYPES: &[(&str, &str)] = &[$(($value, stringify!($name))),*];

        impl Criteria {
            /// The name of the type.
            pub(super) const fn name(&self) -> &'static str {
                match self {
                    $(Self::$name { .. } => stringify!($name)),*
                }
            }
        }
    };
}
types! {
    "cell_change" CellChangeSubscription { filter_criteria_assoc_ho: AssocHo }
    "rab_est" RabEstSubscription { filter_criteria_qci: Qci }
    "rab_mod" RabModSubscription { filter_criteria_qci: QciErab }
    "rab_rel" RabRelSubscription { filter_criteria_qci: QciErab }
    "meas_rep_ue" MeasRepUeSubscription { filter_criteria_assoc_tri: AssocTri }
    "nr_meas_rep_ue" NrMeasRepUeSubscription { filter_criteria_nr_mrs: NrMrs }
    "timing_advance_ue" MeasTaSubscription { filter_criteria_assoc: Assoc }
    "ca_reconf" CaReconfSubscription { filter_criteria_assoc: Assoc }
    "s1_bearer" S1BearerSubscription {
        #[serde(rename = "S1BearerSubscriptionCriteria")]
        criteria: S1Bearer,
        event_type: Vec<Integer>
    }
    // Ours (`docs/radio-information.md`, §3).
    "x_airlane_ue_mac" UeMacSubscription { filter_criteria_assoc: Assoc }
}

/// The type of a value of `subscription_type`.
pub(super) fn type_of(value: &str) -> Result<&'static str, Problem> {
    let found = TYPES.iter().find(|(name, _)| *name == value);
    found.map(|(_, kind)| *kind).ok_or_else(|| {
        let known: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
        Problem::malformed(format!("subscription_type is none of {}", known.join(", ")))
    })
}

/// A request for a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) criteria: Criteria,
    pub(super) callback: Option<String>,
    pub(super) websocket: bool,
    pub(super) test: bool,
    pub(super) deadline: Option<TimeStamp>,
}

impl Request {
    /// Reads the body of a request.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let malformed = |e: serde_json::Error| Problem::malformed(format!("the body: {e}"));
        let body: Body = serde_json::from_slice(bytes).map_err(malformed)?;
        if matches!(&body.criteria, Criteria::S1BearerSubscription { event_type, .. } if event_type.is_empty())
        {
            return Err(Problem::malformed("the body: eventType is empty"));
        }
        let websocket = body.websock_notif_config.and_then(|one| one.request_websocket_uri) == Some(true);
        if body.callback_reference.is_none() && !websocket {
            return Err(Problem::malformed("the body: callbackReference is missing"));
        }
        Ok(Self {
            criteria: body.criteria,
            callback: body.callback_reference,
            websocket,
            test: body.request_test_notification == Some(true),
            deadline: body.expiry_deadline,
        })
    }
}

impl Criteria {
    /// The body without the members that the service sets.
    pub(super) fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_else(|_| json!({}))
    }

    /// The filter of a subscription to records.
    pub(super) const fn of_records(&self) -> Option<&Assoc> {
        match self {
            Self::UeMacSubscription { filter_criteria_assoc } => Some(filter_criteria_assoc),
            _ => None,
        }
    }

    /// The filter of a subscription to timing advances.
    pub(super) const fn of_timing_advances(&self) -> Option<&Assoc> {
        match self {
            Self::MeasTaSubscription { filter_criteria_assoc } => Some(filter_criteria_assoc),
            _ => None,
        }
    }

    /// Why no network of the simulator has its events.
    pub(super) const fn refusal(&self) -> Option<&'static str> {
        match self {
            Self::RabModSubscription { .. } => {
                Some("the bearers of the simulated network are never modified")
            }
            Self::NrMeasRepUeSubscription { .. } => {
                Some("the simulated network is E-UTRA; its UEs do not measure NR cells")
            }
            Self::CaReconfSubscription { .. } => Some("the simulated network has no carrier aggregation"),
            _ => None,
        }
    }

    /// Whether an event belongs to the subscription.
    pub(super) fn wants(&self, event: &Event) -> bool {
        match (self, event.kind) {
            (Self::CellChangeSubscription { filter_criteria_assoc_ho: own }, Kind::CellChange { status }) => {
                own.assoc.admits(event.ue, &event.cells) && among(own.ho_status.as_ref(), &Integer(status))
            }
            (Self::MeasRepUeSubscription { filter_criteria_assoc_tri: own }, Kind::Reported { trigger }) => {
                own.assoc.admits(event.ue, &event.cells) && among(own.trigger.as_ref(), &Trigger(trigger))
            }
            (Self::RabEstSubscription { filter_criteria_qci: own }, Kind::RabEstablished) => {
                own.admits(event)
            }
            (Self::RabRelSubscription { filter_criteria_qci: own }, Kind::RabReleased) => {
                own.bearers.admits(event) && own.erab_id.0 == event.erab
            }
            (Self::S1BearerSubscription { criteria: own, event_type }, Kind::S1Bearer { event: which }) => {
                is_ue(own.associate_id.as_ref(), event.ue)
                    && is_cell(own.ecgi.as_ref(), &event.cells)
                    && among(own.erab_id.as_ref(), &Integer(event.erab))
                    && event_type.contains(&Integer(which))
            }
            _ => false,
        }
    }
}

/// An event, as filters see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) kind: Kind,
    pub(super) ue: [u8; 4],
    /// The cells that it is about.
    pub(super) cells: Vec<u32>,
    pub(super) erab: i64,
    pub(super) qci: Option<i64>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    CellChange { status: i64 },
    Reported { trigger: i64 },
    RabEstablished,
    RabReleased,
    S1Bearer { event: i64 },
}

/// An empty or missing list admits all.
fn among<T: PartialEq>(list: Option<&Vec<T>>, one: &T) -> bool {
    list.is_none_or(|list| list.is_empty() || list.contains(one))
}

fn is_ue(list: Option<&Vec<AssociateId>>, ue: [u8; 4]) -> bool {
    list.is_none_or(|list| list.is_empty() || list.iter().any(|one| one.address() == Some(ue)))
}

fn is_cell(list: Option<&Vec<Ecgi>>, cells: &[u32]) -> bool {
    let named = |one: &Ecgi| one.cell().is_some_and(|cell| cells.contains(&cell));
    list.is_none_or(|list| list.is_empty() || list.iter().any(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(rest: &str) -> Result<Request, Problem> {
        let text = format!(r#"{{"callbackReference": "http://127.0.0.1:9/", {rest}}}"#);
        Request::read(text.as_bytes())
    }

    /// The filters of all types, with the least that the OpenAPI demands.
    #[test]
    fn every_type_of_the_api_is_read() {
        let types = [
            r#""subscriptionType": "CellChangeSubscription", "filterCriteriaAssocHo": {}"#,
            r#""subscriptionType": "RabEstSubscription", "filterCriteriaQci": {"qci": 9}"#,
            r#""subscriptionType": "RabModSubscription", "filterCriteriaQci": {"qci": 9, "erabId": 5}"#,
            r#""subscriptionType": "RabRelSubscription", "filterCriteriaQci": {"qci": 9, "erabId": 5}"#,
            r#""subscriptionType": "MeasRepUeSubscription", "filterCriteriaAssocTri": {"trigger": [12]}"#,
            r#""subscriptionType": "NrMeasRepUeSubscription", "filterCriteriaNrMrs": {}"#,
            r#""subscriptionType": "MeasTaSubscription", "filterCriteriaAssoc": {}"#,
            r#""subscriptionType": "CaReconfSubscription", "filterCriteriaAssoc": {}"#,
            r#""subscriptionType": "S1BearerSubscription", "S1BearerSubscriptionCriteria": {}, "eventType": [1]"#,
            r#""subscriptionType": "UeMacSubscription", "filterCriteriaAssoc": {}"#,
        ];
        for ((_, name), rest) in TYPES.iter().zip(types) {
            let request = body(rest).unwrap();
            assert_eq!(request.criteria.name(), *name);
            assert_eq!(request.criteria.to_json()["subscriptionType"], *name);
        }
    }

    #[test]
    fn what_the_api_does_not_admit_is_refused() {
        let cell_change = r#""subscriptionType": "CellChangeSubscription", "filterCriteriaAssocHo""#;
        for rest in [
            r#""subscriptionType": "CellChange", "filterCriteriaAssocHo": {}"#.to_owned(),
            r#""subscriptionType": "S1BearerSubscription", "S1BearerSubscriptionCriteria": {}, "eventType": []"#
                .to_owned(),
            r#""subscriptionType": "MeasRepUeSubscription", "filterCriteriaAssocTri": {"trigger": [7]}"#.to_owned(),
            format!("{cell_change}: null"),
            format!("{cell_change}: {{\"hoStatus\": null}}"),
            format!("{cell_change}: {{\"hoStatus\": [1.5]}}"),
            format!("{cell_change}: {{\"hoStatus\": [\"1\"]}}"),
            format!("{cell_change}: {{\"associateId\": [{{\"type\": 5}}]}}"),
            format!("{cell_change}: {{\"ecgi\": [{{\"cellId\": \"0000001\"}}]}}"),
            format!("{cell_change}: {{}}, \"expiryDeadline\": {{\"seconds\": 1}}"),
            format!("{cell_change}: {{}}, \"subscriptionType\": \"CellChangeSubscription\""),
            format!("{cell_change}: {{}}, \"_links\": {{\"self\": \"x\"}}"),
            format!("{cell_change}: {{}}, \"callbackReference\": \"http://127.0.0.1:9/\""),
            format!("{cell_change}: {{\"ecgi\": [], \"ecgi\": []}}"),
            format!("{cell_change}: {{}}, \"filterCriteriaAssocHo\": {{}}"),
        ] {
            assert!(body(&rest).is_err(), "{rest}");
        }
        // Integers of JSON Schema that 64 bits do not hold, or that are written with a point.
        for numbers in ["[1e300]", "[2.0]", "[123456789012345678901234567890]"] {
            assert!(body(&format!("{cell_change}: {{\"hoStatus\": {numbers}}}")).is_ok(), "{numbers}");
        }
        assert!(Request::read(&[b'['; 100_000]).is_err());
    }

    #[test]
    fn filters_choose_by_ue_cell_and_status() {
        let filter = r#""subscriptionType": "CellChangeSubscription", "filterCriteriaAssocHo": {
            "associateId": [{"type": 1, "value": "10.1.0.1"}], "hoStatus": [3],
            "ecgi": [{"cellId": "0x0000001", "plmn": {"mcc": "001", "mnc": "01"}}]}"#;
        let criteria = body(filter).unwrap().criteria;
        let event = Event {
            kind: Kind::CellChange { status: 3 },
            ue: [10, 1, 0, 1],
            cells: vec![0, 1],
            erab: 5,
            qci: None,
        };
        assert!(criteria.wants(&event));
        assert!(!criteria.wants(&Event { kind: Kind::CellChange { status: 1 }, ..event.clone() }));
        assert!(!criteria.wants(&Event { ue: [10, 1, 0, 2], ..event.clone() }));
        assert!(!criteria.wants(&Event { cells: vec![0, 2], ..event.clone() }));
        assert!(!criteria.wants(&Event { kind: Kind::RabReleased, ..event }));
    }
}
