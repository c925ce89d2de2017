//! Radio information for the senders: a subscription to a radio network information service (ETSI GS MEC 012) for each
//! UE that has a connection. The service's records of the UE go to the senders of all its connections.
//!
//! A UE is known by the IPv4 address of its connection. The subscription begins after the handshake, which shows that
//! the client receives at this address (RFC 9000 §8.1).

mod service;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use airlane_core::{FlowId, Instant};
use airlane_net::rni::{Consumer, Rejected, UeRecord, Unused};
use airlane_quic::before;
use airlane_transport::congestion::RadioInformation;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::lines::Line;
use super::metrics::RadioMetrics;
use super::settings::Rnis;
use crate::common::time;
use service::{Message, Service, Subscription};

/// The first pause after a failure. It doubles with each further one.
const PAUSE: Duration = Duration::from_millis(200);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// All subscriptions.
pub(super) struct Radio {
    service: Service,
    metrics: RadioMetrics,
    /// UEs at a time.
    most: usize,
    /// The longest time without a message, and of a request.
    silence: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ues: BTreeMap<Ipv4Addr, Ue>,
    tasks: JoinSet<()>,
}

/// A UE with its connections.
struct Ue {
    lines: BTreeMap<u64, Arc<Line>>,
    /// The subscription ends when this sender is dropped.
    _end: oneshot::Sender<()>,
}

/// A connection that gets the records of its UE, until this is dropped.
pub(super) struct Following {
    radio: Arc<Radio>,
    ue: Ipv4Addr,
    number: u64,
}

impl Drop for Following {
    fn drop(&mut self) {
        let mut state = self.radio.lock();
        if let Some(ue) = state.ues.get_mut(&self.ue) {
            ue.lines.remove(&self.number);
            if ue.lines.is_empty() {
                state.ues.remove(&self.ue);
            }
        }
    }
}

impl Radio {
    /// No subscription yet.
    pub(super) fn new(settings: &Rnis, metrics: RadioMetrics) -> Result<Arc<Self>, String> {
        Ok(Arc::new(Self {
            service: Service::new(settings)?,
            metrics,
            most: settings.ues as usize,
            silence: time(settings.timeout),
            state: Mutex::default(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the records of the UE with this address to a connection. `None` if the address is no IPv4 address, or
    /// above the bound of UEs: each loss of the connection is congestion then.
    pub(super) fn follow(self: &Arc<Self>, address: IpAddr, line: &Arc<Line>) -> Option<Following> {
        let IpAddr::V4(ue) = address.to_canonical() else { return None };
        let mut state = self.lock();
        if !state.ues.contains_key(&ue) {
            if state.ues.len() >= self.most {
                self.metrics.refused.inc();
                return None;
            }
            let (end, ended) = oneshot::channel();
            state.ues.insert(ue, Ue { lines: BTreeMap::new(), _end: end });
            while state.tasks.try_join_next().is_some() {} // forgets those that have ended
            state.tasks.spawn(self.clone().subscribe(ue, ended));
        }
        state.ues.get_mut(&ue)?.lines.insert(line.number, line.clone());
        drop(state);
        Some(Following { radio: self.clone(), ue, number: line.number })
    }

    /// Waits until the service knows of the end of all subscriptions. No connection is left.
    pub(super) async fn end(&self) {
        let mut tasks = std::mem::take(&mut self.lock().tasks);
        while tasks.join_next().await.is_some() {}
    }

    /// Subscribes, again after each failure, until the UE has no connection.
    async fn subscribe(self: Arc<Self>, ue: Ipv4Addr, mut ended: oneshot::Receiver<()>) {
        let mut pause = PAUSE;
        loop {
            // The request is not given up halfway: the service would keep a subscription without an end.
            match self.service.subscribe(ue).await {
                Ok(mut subscription) => {
                    self.metrics.subscriptions.inc();
                    let records = tokio::select! {
                        records = self.receive(ue, &mut subscription) => Some(records),
                        _ = &mut ended => None,
                    };
                    self.metrics.subscriptions.dec();
                    self.service.cancel(subscription).await;
                    match records {
                        Some(0) => {}
                        Some(_) => pause = PAUSE,
                        None => return,
                    }
                }
                Err(error) => {
                    self.metrics.failures.inc();
                    tracing::debug!(%ue, %error, "no subscription to radio information");
                }
            }
            tokio::select! {
                () = sleep(pause) => {}
                _ = &mut ended => return,
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Receives records until the end of the subscription; returns their number.
    async fn receive(&self, ue: Ipv4Addr, subscription: &mut Subscription) -> u64 {
        let consumer = Consumer::new(FlowId(0), ue.octets());
        let mut records = 0;
        loop {
            let text = match timeout(self.silence, subscription.next()).await {
                Ok(Some(Message::Notification(text))) => text,
                Ok(Some(Message::Expiry) | None) => return records,
                Err(_) => {
                    self.metrics.failures.inc();
                    tracing::debug!(%ue, "the service is silent");
                    return records;
                }
            };
            let now = since_1970();
            match consumer.accept(text.as_bytes(), now) {
                Ok(record) => {
                    records += 1;
                    self.metrics.records.inc();
                    self.inform(ue, &record, now);
                }
                Err(unused) => self.metrics.unused(word(unused)),
            }
        }
    }

    /// Passes a record to the senders. Their clock has another beginning, so that the age of the record is kept.
    fn inform(&self, ue: Ipv4Addr, record: &UeRecord, now: Instant) {
        let age = now.saturating_since(record.measured_at);
        let lines: Vec<Arc<Line>> =
            self.lock().ues.get(&ue).map(|one| one.lines.values().cloned().collect()).unwrap_or_default();
        for line in lines.iter().filter(|line| line.leads_to(ue)) {
            line.senders.on_radio_information(&RadioInformation {
                measured_at: before(line.senders.now(), age),
                transport_block: record.block,
                resource_blocks: record.prbs,
                cqi: record.cqi,
                queue: record.queue,
                cell_use: record.cell_use,
            });
        }
    }
}

/// The present, as the service counts it.
fn since_1970() -> Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// The label of a notification that is not used.
const fn word(unused: Unused) -> &'static str {
    match unused {
        Unused::Rejected(Rejected::Malformed) => "malformed",
        Unused::Rejected(Rejected::Impossible) => "impossible",
        Unused::OtherUe => "other-ue",
        Unused::FromTheFuture => "future",
    }
}
