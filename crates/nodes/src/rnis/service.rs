//! The service without its sockets: its information, the subscriptions, and the recipients of notifications.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Instant, SystemTime};

use axum::http::StatusCode;
use hyper::body::Bytes;
use serde_json::{Map, Value, json};

use super::access::{Caller, Callers};
use super::body::{Integer, TimeStamp, associate_id, ecgi};
use super::delivery::{Delivery, Outbox, Route, Waiting};
use super::metrics::Metrics;
use super::problem::Problem;
use super::settings::{Limits, Settings};
use super::source::{Happening, Quality, Report, What};
use super::subscription::{Criteria, Event, Kind, Request};
use crate::clients::Client;

/// The E-RABs of the default bearer, and of a second bearer: 5 is the lowest value for a user plane bearer (TS 24.007
/// §11.2.3.1.5).
const ERABS: [i64; 2] = [5, 6];

/// The minimum number of subscriptions of a client without a setting, if the service has as many.
const SHARE_MIN: u32 = 64;

/// The parties that share the subscriptions of the service: applications by their tokens, or else clients by their
/// addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sharer {
    Application(Caller),
    Client(Client),
}

/// The owner of a subscription.
#[derive(Clone, Debug)]
struct Owner {
    caller: Caller,
    sharer: Sharer,
}

/// A subscription.
#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) id: u32,
    owner: Owner,
    pub(super) criteria: Criteria,
    callback: Option<Route>,
    reference: Option<String>,
    /// The secret in the path of its WebSocket.
    socket: Option<String>,
    pub(super) outbox: Arc<Outbox>,
    /// In s since 1970.
    deadline: i64,
    noticed: AtomicBool,
}

#[derive(Default)]
struct Store {
    /// The number of the newest subscription. It is 0 when the node begins: subscriptions are not stored.
    last: u32,
    /// The number of subscriptions of each sharer.
    shares: BTreeMap<Sharer, u32>,
    by_id: BTreeMap<u32, Arc<Subscription>>,
    /// By the secret in the path of the WebSocket.
    sockets: BTreeMap<String, u32>,
}

/// The service.
pub(super) struct Service {
    pub(super) callers: Callers,
    pub(super) metrics: Metrics,
    qci: Option<u8>,
    pub(super) limits: Limits,
    /// The most subscriptions of one sharer.
    share: u32,
    delivery: Delivery,
    base: String,
    store: Mutex<Store>,
    known: Mutex<Arc<Report>>,
}

impl Service {
    pub(super) fn new(settings: &Settings, callers: Callers, delivery: Delivery, metrics: Metrics) -> Self {
        let Limits { subscriptions, subscriptions_per_client, .. } = settings.limits;
        let share = match callers.count() {
            0 => (subscriptions / 2).max(SHARE_MIN),
            applications => (subscriptions / applications as u32).max(1),
        };
        Self {
            callers,
            metrics,
            share: subscriptions_per_client.unwrap_or(share),
            qci: settings.source.qci,
            limits: settings.limits.clone(),
            delivery,
            base: settings.base(),
            store: Mutex::default(),
            known: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().expect("no panic while it is locked")
    }

    /// The latest report.
    pub(super) fn known(&self) -> Arc<Report> {
        self.known.lock().expect("no panic while it is locked").clone()
    }

    /// Takes a report of the source, and notifies subscribers.
    pub(super) fn learn(&self, mut report: Report) {
        let since = Instant::now();
        if !report.is_measured {
            report.measured = self.known().measured.clone();
        }
        let report = Arc::new(report);
        *self.known.lock().expect("no panic while it is locked") = report.clone();
        let all: Vec<_> = self.lock().by_id.values().cloned().collect();
        for happening in &report.happenings {
            for (event, body) in self.events(happening, &report) {
                let wanting = all.iter().filter(|one| one.criteria.wants(&event));
                wanting.for_each(|one| self.notify(one, self.with_link(one, &body), since));
            }
        }
        if report.is_due {
            self.send_records(&all, &report, since);
        }
        if report.is_measured {
            self.send_timing_advances(&all, &report, since);
        }
    }

    /// The source has begun: measurements of the run before do not count.
    pub(super) fn begin(&self) {
        let mut known = self.known.lock().expect("no panic while it is locked");
        *known = Arc::new(Report { measured: Arc::default(), ..Report::clone(&known) });
    }

    fn send_timing_advances(&self, all: &[Arc<Subscription>], report: &Report, since: Instant) {
        let by_ue: BTreeMap<_, _> = report.measured.ues.iter().map(|one| (one.ue, one)).collect();
        for one in all {
            let Some(filter) = one.criteria.of_timing_advances() else { continue };
            for user in filter.choose(&by_ue, |user| user.cell) {
                let body = json!({
                    "notificationType": "MeasTaNotification",
                    "timeStamp": TimeStamp::from_nanos(report.at),
                    "associateId": [associate_id(user.ue)],
                    "ecgi": ecgi(user.cell),
                    "timingAdvance": user.timing_advance,
                });
                if let Value::Object(body) = body {
                    self.notify(one, self.with_link(one, &body), since);
                }
            }
        }
    }

    fn send_records(&self, all: &[Arc<Subscription>], report: &Report, since: Instant) {
        let by_ue: BTreeMap<_, _> = report.records.iter().map(|one| (one.ue, one)).collect();
        for one in all {
            let Some(filter) = one.criteria.of_records() else { continue };
            for record in filter.choose(&by_ue, |record| record.cell) {
                self.notify(one, record.encode(one.id).into(), since);
            }
        }
    }

    /// The events of a happening, with the bodies of their notifications.
    fn events(&self, happening: &Happening, known: &Report) -> Vec<(Event, Map<String, Value>)> {
        let ue = happening.ue;
        let event = |kind, cells, erab| Event { kind, ue, cells, erab, qci: self.qci_of(erab) };
        let body = |name: &str, rest: Value| {
            let mut body = match rest {
                Value::Object(map) => map,
                _ => Map::new(),
            };
            body.insert("notificationType".to_owned(), name.into());
            body.insert("timeStamp".to_owned(), json!(TimeStamp::from_nanos(happening.at)));
            body
        };
        let ids = [associate_id(ue)];
        let s1 = |which: i64, cell: u32, erab: i64| {
            let info = json!({"associateId": ids, "ecgi": [ecgi(cell)], "s1BearerInfo": [{"erabId": erab}]});
            let body = body("S1BearerNotification", json!({"s1Event": which, "s1UeInfo": info}));
            (event(Kind::S1Bearer { event: which }, vec![cell], erab), body)
        };
        let each = |cell: u32| known.erabs(cell).iter().copied();
        // Values of eventType in the OpenAPI: 1 is S1_BEARER_ESTABLISH, 2 S1_BEARER_MODIFY, 3 S1_BEARER_RELEASE.
        match happening.what {
            What::Handover { status, from, to } => {
                let status = status as i64;
                let rest = json!({
                    "associateId": ids, "hoStatus": status, "srcEcgi": ecgi(from), "trgEcgi": [ecgi(to)],
                });
                let event = event(Kind::CellChange { status }, vec![from, to], ERABS[0]);
                vec![(event, body("CellChangeNotification", rest))]
            }
            What::Established { cell } => each(cell)
                .flat_map(|erab| {
                    let mut rest = json!({"associateId": ids, "ecgi": ecgi(cell), "erabId": erab});
                    if let Some(qci) = self.qci_of(erab) {
                        rest["erabQosParameters"] = json!({"qci": qci});
                    }
                    let own =
                        (event(Kind::RabEstablished, vec![cell], erab), body("RabEstNotification", rest));
                    [own, s1(1, cell, erab)]
                })
                .collect(),
            What::Released { cell } => each(cell)
                .flat_map(|erab| {
                    let rest = json!({
                        "associateId": ids, "ecgi": ecgi(cell), "erabReleaseInfo": {"erabId": erab},
                    });
                    let own = (event(Kind::RabReleased, vec![cell], erab), body("RabRelNotification", rest));
                    [own, s1(3, cell, erab)]
                })
                .collect(),
            What::Reported { trigger, serving, neighbour } => {
                let about =
                    |one: Quality| json!({"ecgi": ecgi(one.cell), "rsrp": one.rsrp, "rsrq": one.rsrq});
                let mut rest = about(serving);
                rest["associateId"] = json!(ids);
                rest["trigger"] = trigger.into();
                if let Some(neighbour) = neighbour {
                    rest["eutranNeighbourCellMeasInfo"] = json!([about(neighbour)]);
                }
                let event = event(Kind::Reported { trigger }, vec![serving.cell], ERABS[0]);
                vec![(event, body("MeasRepUeNotification", rest))]
            }
            What::PathSwitched { cell } => each(cell).map(|erab| s1(2, cell, erab)).collect(),
        }
    }

    /// The QoS class of a bearer, if it is the default bearer and the operator has set its class.
    pub(super) fn qci_of(&self, erab: i64) -> Option<i64> {
        self.qci.filter(|_| erab == ERABS[0]).map(i64::from)
    }

    /// The body with the link to the subscription, as bytes.
    fn with_link(&self, one: &Subscription, body: &Map<String, Value>) -> Bytes {
        let mut body = body.clone();
        let href = self.href(one.id);
        body.insert("_links".to_owned(), json!({"subscription": {"href": href}}));
        Value::Object(body).to_string().into()
    }

    fn notify(&self, one: &Subscription, body: Bytes, since: Instant) {
        let waiting = Waiting { body, since };
        match &one.callback {
            Some(route) => self.delivery.post(route, waiting),
            None => self.delivery.keep(&one.outbox, waiting),
        }
    }

    /// The URI of a subscription.
    pub(super) fn href(&self, id: u32) -> String {
        format!("{}/rni/v2/subscriptions/{id}", self.base)
    }

    /// The URI of all subscriptions.
    pub(super) fn list_href(&self) -> String {
        format!("{}/rni/v2/subscriptions", self.base)
    }

    /// Creates a subscription.
    pub(super) fn subscribe(
        &self,
        caller: Caller,
        client: Client,
        request: Request,
    ) -> Result<Arc<Subscription>, Problem> {
        let sharer = match &self.callers {
            Callers::Tokens(_) => Sharer::Application(caller.clone()),
            Callers::Open(_) => Sharer::Client(client),
        };
        let owner = Owner { caller, sharer };
        let outbox = Arc::new(Outbox::default());
        let test = request.test;
        self.has_place(&self.lock(), &owner.sharer)?;
        let one = self.prepare(owner, request, outbox)?;
        let mut store = self.lock();
        self.has_place(&store, &one.owner.sharer)?;
        let exhausted =
            || Problem::too_many("all numbers of subscriptions have been used; restart the service");
        store.last = store.last.checked_add(1).ok_or_else(exhausted)?;
        let one = Arc::new(Subscription { id: store.last, ..one });
        *store.shares.entry(one.owner.sharer.clone()).or_default() += 1;
        self.insert(&mut store, &one);
        drop(store);
        if test {
            let body = Map::from_iter([("notificationType".to_owned(), "TestNotification".into())]);
            self.notify(&one, self.with_link(&one, &body), Instant::now());
        }
        Ok(one)
    }

    /// Whether there may be one more subscription, in all and of this sharer.
    fn has_place(&self, store: &Store, sharer: &Sharer) -> Result<(), Problem> {
        let (most, share) = (self.limits.subscriptions, self.share);
        if store.by_id.len() >= most as usize {
            let what = format!("there are {most} subscriptions, the most of this service");
            return Err(Problem::too_many(what));
        }
        if store.shares.get(sharer).is_some_and(|own| *own >= share) {
            let what = format!("this client has {share} subscriptions, the most of one client");
            return Err(Problem::too_many(what));
        }
        Ok(())
    }

    /// Replaces a subscription of the same type.
    pub(super) fn update(
        &self,
        caller: &Caller,
        id: u32,
        request: Request,
    ) -> Result<Arc<Subscription>, Problem> {
        let before = self.find(caller, id)?;
        if before.criteria.name() != request.criteria.name() {
            let own = before.criteria.name();
            return Err(Problem::impossible(format!("the subscription is a {own}; its type cannot change")));
        }
        let next = self.prepare(before.owner.clone(), request, before.outbox.clone())?;
        // A WebSocket that is there stays.
        let socket = next.socket.as_ref().and(before.socket.clone()).or(next.socket);
        let one = Arc::new(Subscription { id, socket, ..next });
        let mut store = self.lock();
        if !store.by_id.contains_key(&id) {
            return Err(Problem::unknown("there is no such subscription"));
        }
        if let (Some(secret), None) = (&before.socket, &one.socket) {
            store.sockets.remove(secret);
        }
        self.insert(&mut store, &one);
        drop(store);
        Ok(one)
    }

    fn insert(&self, store: &mut Store, one: &Arc<Subscription>) {
        if let Some(secret) = &one.socket {
            store.sockets.insert(secret.clone(), one.id);
        }
        store.by_id.insert(one.id, one.clone());
        self.metrics.subscriptions.set(store.by_id.len() as i64);
    }

    /// Why the network cannot have the events of a subscription.
    fn refusal(&self, criteria: &Criteria) -> Option<&'static str> {
        let known = self.known();
        let is_silent = known.cell_count > 0 && !known.measures;
        match criteria {
            Criteria::MeasRepUeSubscription { .. } if is_silent => {
                Some("the UEs of this network send no measurement reports; its scenario has no [handover]")
            }
            criteria => criteria.refusal(),
        }
    }

    /// A subscription without a number.
    fn prepare(&self, owner: Owner, request: Request, outbox: Arc<Outbox>) -> Result<Subscription, Problem> {
        if let Some(reason) = self.refusal(&request.criteria) {
            return Err(Problem::impossible(format!("{}: {reason}", request.criteria.name())));
        }
        let now = seconds();
        let latest = now + (self.limits.lifetime.0.as_nanos() / 1_000_000_000) as i64;
        if request.deadline.is_some_and(|asked| !(0..1_000_000_000).contains(&asked.nano_seconds.0)) {
            return Err(Problem::impossible("expiryDeadline: nanoSeconds is not within 0 and 999999999"));
        }
        let deadline = request.deadline.map_or(latest, |asked| asked.seconds.0.min(latest));
        if deadline <= now {
            return Err(Problem::impossible("expiryDeadline has passed"));
        }
        let route = |text: &String| {
            let uri = self.delivery.sender().callback(text).map_err(Problem::impossible)?;
            Ok::<_, Problem>(Route { uri, outbox: outbox.clone() })
        };
        let callback = request.callback.as_ref().map(route).transpose()?;
        let socket = match request.websocket && callback.is_none() {
            true => Some(secret()?),
            false => None,
        };
        Ok(Subscription {
            id: 0,
            owner,
            criteria: request.criteria,
            callback,
            reference: request.callback,
            socket,
            outbox,
            deadline,
            noticed: AtomicBool::new(false),
        })
    }

    /// A subscription of this caller. Those of others do not exist for it.
    pub(super) fn find(&self, caller: &Caller, id: u32) -> Result<Arc<Subscription>, Problem> {
        let found = self.lock().by_id.get(&id).filter(|one| one.owner.caller == *caller).cloned();
        found.ok_or_else(|| Problem::unknown("there is no such subscription"))
    }

    /// The subscription with this secret in the path of its WebSocket.
    pub(super) fn by_socket(&self, secret: &str) -> Option<Arc<Subscription>> {
        let store = self.lock();
        store.by_id.get(store.sockets.get(secret)?).cloned()
    }

    /// Ends a subscription.
    pub(super) fn cancel(&self, caller: &Caller, id: u32) -> Result<(), Problem> {
        self.find(caller, id)?;
        self.remove(id);
        Ok(())
    }

    fn remove(&self, id: u32) {
        let mut store = self.lock();
        let Some(one) = store.by_id.remove(&id) else { return };
        if let Some(secret) = &one.socket {
            store.sockets.remove(secret);
        }
        if let Some(own) = store.shares.get_mut(&one.owner.sharer) {
            *own -= 1;
            if *own == 0 {
                store.shares.remove(&one.owner.sharer);
            }
        }
        self.metrics.subscriptions.set(store.by_id.len() as i64);
        drop(store);
        one.outbox.end();
    }

    /// The subscriptions of a caller, of one type or of all, as JSON. There may be many, and any caller may ask for
    /// them often: the text is written without a tree of values.
    pub(super) fn list(&self, caller: &Caller, kind: Option<&str>) -> String {
        let href = Value::from(self.list_href()).to_string();
        // The link of a subscription is the link of the list with the number of the subscription.
        let begin = href.strip_suffix('"').unwrap_or(&href);
        let mut text = format!("{{\"_links\":{{\"self\":{{\"href\":{href}}},\"subscription\":[");
        let empty = text.len();
        let store = self.lock();
        let own = store.by_id.values().filter(|one| one.owner.caller == *caller);
        for one in own.filter(|one| kind.is_none_or(|kind| one.criteria.name() == kind)) {
            let (comma, name) = (if text.len() > empty { "," } else { "" }, one.criteria.name());
            // Writing to a text does not fail.
            let _ = write!(text, "{comma}{{\"href\":{begin}/{}\",\"subscriptionType\":\"{name}\"}}", one.id);
        }
        text.push_str("]}}");
        text
    }

    /// Tells subscribers of deadlines that are near, and ends subscriptions at theirs.
    pub(super) fn expire(&self) {
        let (now, notice) = (seconds(), (self.limits.notice.0.as_nanos() / 1_000_000_000) as i64);
        let near: Vec<_> =
            self.lock().by_id.values().filter(|one| one.deadline <= now + notice).cloned().collect();
        for one in near {
            if one.deadline <= now {
                self.remove(one.id);
            } else if !one.noticed.swap(true, Ordering::Relaxed) {
                let href = self.href(one.id);
                // `self` is of V2.1.1, `subscription` and the type of V2.2.1.
                let body = json!({
                    "notificationType": "ExpiryNotification",
                    "_links": {"self": href, "subscription": {"href": href}},
                    "expiryDeadline": deadline_of(one.deadline),
                    "timeStamp": TimeStamp { seconds: Integer(now), nano_seconds: Integer(0) },
                });
                self.notify(&one, body.to_string().into(), Instant::now());
            }
        }
    }

    /// The body of a subscription.
    pub(super) fn describe(&self, one: &Subscription) -> Value {
        let mut body = one.criteria.to_json();
        body["_links"] = json!({"self": {"href": self.href(one.id)}});
        body["expiryDeadline"] = deadline_of(one.deadline);
        if let Some(reference) = &one.reference {
            body["callbackReference"] = reference.as_str().into();
        }
        if let Some(secret) = &one.socket {
            let base = self.base.replacen("http", "ws", 1);
            let uri = format!("{base}/rni/v2/websockets/{secret}");
            body["websockNotifConfig"] = json!({"requestWebsocketUri": true, "websocketUri": uri});
        }
        body
    }
}

impl Report {
    /// The E-RABs of a UE in a cell.
    pub(super) fn erabs(&self, cell: u32) -> &'static [i64] {
        let has_second = self.second_bearer.get(cell as usize).is_some_and(|second| *second);
        if has_second { &ERABS } else { &ERABS[..1] }
    }
}

fn deadline_of(seconds: i64) -> Value {
    json!(TimeStamp { seconds: Integer(seconds), nano_seconds: Integer(0) })
}

fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// 128 random bits in hexadecimal.
fn secret() -> Result<String, Problem> {
    let mut bytes = [0; 16];
    let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "no random numbers");
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
