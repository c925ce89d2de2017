//! The dedicated bearers of a UE, and the logical channels of all of them.
//!
//! A transport block takes data as logical channel prioritization does (TS 36.321 v17.0 §5.4.3.1, TS 38.321 v18.5.0
//! §5.4.3.1, whose steps are known here from descriptions of it): in the order of priorities each channel gets its
//! prioritised bit rate, and the rest goes to them in the same order. The standards define this for the uplink; here it is
//! the rule in the downlink too, where the network is free.

use airlane_core::{BitRate, Bytes, Cx, Direction, Duration, Ecn, FlowId, Instant, Packet, Stream};

use super::bucket::{Bucket, bytes_in};
use super::{DedicatedBearerConfig, L4sBearerConfig, MacPdu, way};
use crate::bearer::{BearerConfig, Departure, RadioBearer, RlcConfig};
use crate::pdcp::NumberedSdu;
use crate::qos::{AVERAGING_WINDOW, BearerDemand, QosClass, ResourceType};
use crate::sdap::{Drb, Qfi, Sdap};

/// Maximum number of bearers of a UE: 29 data radio bearers in NR (TS 38.331, maxDRB).
pub(super) const MOST_BEARERS: usize = 29;

/// The place of the default bearer, and that of L4S if there is one. Others follow.
pub(super) const DEFAULT: u8 = 0;
const L4S: u8 = 1;

/// Prioritised bit rate of a channel without guaranteed bit rate, so that channels of higher priority leave something
/// (choice, near kBps128 of TS 36.331; `l4s_bearer` has the same).
const PRIORITISED: BitRate = BitRate(1_000_000);
/// Bucket size duration (choice, ms100 of TS 36.331).
const BUCKET: Duration = Duration::from_millis(100);
/// The bytes that a limit of a rate admits at once: those of this time, and at least [`BURST_LEAST`] (choice).
const BURST: Duration = Duration::from_millis(100);
const BURST_LEAST: Bytes = Bytes(16 * 1024);

/// A logical channel.
#[derive(Clone, Copy, Debug)]
struct Channel {
    /// Its priority; the lowest number goes first.
    priority: u8,
    /// Of its prioritised bit rate, by direction.
    buckets: [Bucket; 2],
}

impl Channel {
    fn new(priority: u8, rate: BitRate, bucket: Duration, now: Instant) -> Self {
        Self { priority, buckets: [Bucket::new(rate, bucket, now); 2] }
    }
}

/// A bearer other than the default one.
#[derive(Debug)]
pub(super) struct Dedicated {
    pub(super) bearer: RadioBearer,
    class: QosClass,
    channel: Channel,
    /// The bytes that its guaranteed bit rate still allows in the downlink.
    credit: Option<Bucket>,
    /// Its maximum bit rate, by direction.
    limit: Option<[Bucket; 2]>,
}

/// The bearers of a UE that has more than the default one, or a limit of its rate.
#[derive(Debug)]
pub(super) struct DedicatedBearers {
    /// By place, the first of which is 1.
    pub(super) bearers: Vec<Dedicated>,
    default: Channel,
    /// The places of all bearers, those of the lowest priority first.
    order: Vec<u8>,
    /// The ECN fields of the packets that use the bearer of L4S; none without it.
    takes: [bool; 4],
    /// Flows whose packets use a certain bearer, whatever their ECN field; by number.
    mapped: Vec<(FlowId, u8)>,
    /// The aggregate maximum bit rate of the bearers without guaranteed bit rate, by direction.
    aggregate: [Option<Bucket>; 2],
    /// Data that a bearer outputs at a re-establishment.
    departure: Departure,
}

/// The data radio bearers of a UE of NR with L4S.
const DEFAULT_DRB: Drb = Drb(DEFAULT);
const LOW_LATENCY_DRB: Drb = Drb(L4S);

/// The ECN fields by their number.
const ECN_FIELDS: [Ecn; 4] = [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced];

/// True if packets with this ECN field use the bearer for L4S: by its templates in LTE, by the mapping of their QoS flow
/// in NR.
fn is_low_latency(rlc: &RlcConfig, ecn: Ecn) -> bool {
    match rlc {
        RlcConfig::Tm | RlcConfig::Um(_) | RlcConfig::Am(_) => {
            matches!(ecn, Ecn::Capable1 | Ecn::CongestionExperienced)
        }
        RlcConfig::Nr(_) => {
            let mut sdap = Sdap::new(DEFAULT_DRB);
            sdap.map(Qfi::LOW_LATENCY, LOW_LATENCY_DRB);
            sdap.bearer_of(Qfi::of(ecn)) == LOW_LATENCY_DRB
        }
    }
}

/// The bucket of a limit of a rate.
fn limit(rate: BitRate, now: Instant) -> Bucket {
    Bucket::full(rate, BURST_LEAST.max(bytes_in(rate, BURST)), now)
}

impl DedicatedBearers {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            bearers: Vec::new(),
            default: Channel::new(QosClass::DEFAULT.priority, PRIORITISED, BUCKET, now),
            order: vec![DEFAULT],
            takes: [false; 4],
            mapped: Vec::new(),
            aggregate: [None; 2],
            departure: Departure::default(),
        }
    }

    /// With the bearer of L4S.
    pub(super) fn with_l4s(
        config: &L4sBearerConfig,
        now: Instant,
        stream: impl Fn(Direction) -> Stream,
    ) -> Self {
        let class = QosClass::of(80).expect("5QI 80, see Qfi::LOW_LATENCY");
        let mut all = Self::new(now);
        all.takes = ECN_FIELDS.map(|ecn| is_low_latency(&config.bearer.rlc, ecn));
        all.default.buckets = [Bucket::new(config.default_rate, config.bucket, now); 2];
        all.bearers.push(Dedicated {
            bearer: RadioBearer::new(&config.bearer, stream),
            class,
            channel: Channel::new(class.priority, config.rate, config.bucket, now),
            credit: None,
            limit: None,
        });
        all.sort();
        all
    }

    /// The packets of a flow use the bearer of a class, which is set up unless the UE has it: `config` makes its
    /// configuration.
    pub(super) fn set_up(
        &mut self,
        flow: FlowId,
        qos: &DedicatedBearerConfig,
        now: Instant,
        config: impl FnOnce() -> BearerConfig,
        stream: impl Fn(Direction) -> Stream,
    ) {
        let place = self.place_of(qos.class.qi).unwrap_or_else(|| {
            assert!(self.bearers.len() + 1 < MOST_BEARERS, "too many bearers of a UE");
            self.bearers.push(Dedicated {
                bearer: RadioBearer::new(&config(), stream),
                class: qos.class,
                channel: Channel::new(qos.class.priority, PRIORITISED, BUCKET, now),
                credit: None,
                limit: None,
            });
            self.sort();
            self.bearers.len() as u8
        });
        self.map_flow(flow, place);
        if let Some(bearer) = usize::from(place).checked_sub(1).map(|place| &mut self.bearers[place]) {
            bearer.add_rates(qos, now);
        }
    }

    /// The place of the bearer of a class.
    fn place_of(&self, qi: u8) -> Option<u8> {
        if qi == QosClass::DEFAULT.qi {
            return Some(DEFAULT);
        }
        self.bearers.iter().position(|bearer| bearer.class.qi == qi).map(|place| place as u8 + 1)
    }

    /// Puts the bearers in order. Of equal priorities, that of the earlier bearer is higher.
    fn sort(&mut self) {
        let mut order: Vec<u8> = (0..=self.bearers.len() as u8).collect();
        order.sort_by_key(|place| core::cmp::Reverse((self.channel(*place).priority, *place)));
        self.order = order;
    }

    fn channel(&self, place: u8) -> &Channel {
        match place.checked_sub(1) {
            None => &self.default,
            Some(place) => &self.bearers[usize::from(place)].channel,
        }
    }

    /// Gives the packets of a flow to a bearer, whatever their ECN field.
    fn map_flow(&mut self, flow: FlowId, bearer: u8) {
        let place = self.mapped.partition_point(|(other, _)| *other < flow);
        self.mapped.insert(place, (flow, bearer));
    }

    /// [`Self::map_flow`], to the bearer of a QoS flow.
    pub(super) fn map_to_qos_flow(&mut self, flow: FlowId, to: Qfi) {
        let has_l4s = self.takes.contains(&true);
        self.map_flow(flow, if to == Qfi::LOW_LATENCY && has_l4s { L4S } else { DEFAULT });
    }

    /// Limits the rates of the bearers without guaranteed bit rate together, downlink and uplink.
    pub(super) fn limit_aggregate(&mut self, rates: [Option<BitRate>; 2], now: Instant) {
        self.aggregate = rates.map(|rate| rate.map(|rate| limit(rate, now)));
    }

    /// The place of the bearer of a packet, by the packet filters.
    pub(super) fn place_for(&self, packet: &Packet) -> u8 {
        match self.mapped.binary_search_by_key(&packet.flow, |(flow, _)| *flow) {
            Ok(place) => self.mapped[place].1,
            Err(_) if self.takes[packet.ecn as usize] => L4S,
            Err(_) => DEFAULT,
        }
    }

    /// Whether the limits of the rates admit a packet to the bearer at this place.
    pub(super) fn admits(&mut self, place: u8, direction: Direction, packet: Bytes, now: Instant) -> bool {
        let way = way(direction);
        let bearer = usize::from(place).checked_sub(1).map(|place| &mut self.bearers[place]);
        let is_guaranteed = bearer.as_ref().is_some_and(|bearer| bearer.class.has_guaranteed_rate());
        let aggregate = self.aggregate[way].as_mut().filter(|_| !is_guaranteed);
        let own = bearer.and_then(|bearer| bearer.limit.as_mut()).map(|limits| &mut limits[way]);
        own.into_iter().chain(aggregate).all(|limit| limit.admits(now, packet))
    }

    /// Fills a block from all logical channels: that of the lowest priority comes first in the block, so that the others
    /// can use what it leaves.
    pub(super) fn multiplex(
        &mut self,
        default: &mut RadioBearer,
        cx: &mut Cx<'_>,
        direction: Direction,
        grant: Bytes,
        block: &mut MacPdu,
    ) -> Bytes {
        let (mut waiting, mut shares) = ([0; MOST_BEARERS], [0; MOST_BEARERS]);
        waiting[0] = default.demand(direction, cx.now).get();
        for (waiting, one) in waiting[1..].iter_mut().zip(&self.bearers) {
            *waiting = one.bearer.demand(direction, cx.now).get();
        }
        let mut left = grant.get();
        for &place in self.order.iter().rev() {
            let channel = match place.checked_sub(1) {
                None => &mut self.default,
                Some(place) => &mut self.bearers[usize::from(place)].channel,
            };
            let bucket = &mut channel.buckets[way(direction)];
            let share = bucket.fill(cx.now).min(waiting[usize::from(place)]).min(left);
            bucket.take(share);
            shares[usize::from(place)] = share;
            left -= share;
        }
        for place in self.order.iter().rev().map(|place| usize::from(*place)) {
            let more = (waiting[place] - shares[place]).min(left);
            shares[place] += more;
            left -= more;
        }
        let mut room = left;
        for &place in &self.order {
            room += shares[usize::from(place)];
            let used = match place.checked_sub(1) {
                None => default.transmit(cx, direction, Bytes(room), &mut block.pdus),
                Some(place) => self.bearers[usize::from(place)].transmit(cx, direction, Bytes(room), block),
            };
            room -= used.get();
            block.end_of(place);
        }
        grant - Bytes(room)
    }

    /// Appends what each bearer outputs at a re-establishment by `leave`, with its identity.
    pub(super) fn depart(
        &mut self,
        out: &mut Departure,
        mut leave: impl FnMut(&mut RadioBearer, &mut Departure),
    ) {
        for (place, one) in (1..).zip(&mut self.bearers) {
            let e_rab = super::DEFAULT_BEARER + place;
            let departure = &mut self.departure;
            leave(&mut one.bearer, departure);
            out.downlink.append(&mut departure.downlink);
            out.uplink.append(&mut departure.uplink);
            out.forwarded.extend(departure.forwarded.drain(..).map(|sdu| NumberedSdu { e_rab, ..sdu }));
            let statuses = departure.sn_status.drain(..);
            out.sn_status.extend(statuses.map(|status| crate::x2::SnStatusTransfer { e_rab, ..status }));
        }
    }

    /// Appends the demands of the bearers in the downlink.
    pub(super) fn demands(&mut self, now: Instant, out: &mut Vec<BearerDemand>) {
        for one in &mut self.bearers {
            let backlog = one.bearer.demand(Direction::Downlink, now);
            if backlog > Bytes::ZERO {
                let credit = one.credit.as_mut().map_or(0, |credit| credit.fill(now));
                let waited = one.bearer.head_of_line(Direction::Downlink, now);
                let guaranteed = backlog.min(Bytes(credit));
                out.push(BearerDemand { class: one.class, backlog, waited, guaranteed });
            }
        }
    }
}

impl Dedicated {
    /// Adds the rates of another flow.
    fn add_rates(&mut self, qos: &DedicatedBearerConfig, now: Instant) {
        if let Some(rate) = qos.guaranteed {
            let size = match (self.class.resource, self.class.burst) {
                (ResourceType::DelayCriticalGbr, Some(burst)) => burst,
                _ => bytes_in(rate, AVERAGING_WINDOW),
            };
            match &mut self.credit {
                None => {
                    self.credit = Some(Bucket::full(rate, size, now));
                    self.channel.buckets = [Bucket::new(rate, BUCKET, now); 2];
                }
                Some(credit) => {
                    credit.widen(rate, size, now);
                    self.channel
                        .buckets
                        .iter_mut()
                        .for_each(|bucket| bucket.widen(rate, bytes_in(rate, BUCKET), now));
                }
            }
        }
        if let Some(rate) = qos.maximum {
            match &mut self.limit {
                None => self.limit = Some([limit(rate, now); 2]),
                Some(limits) => limits.iter_mut().for_each(|one| one.widen(rate, bytes_in(rate, BURST), now)),
            }
        }
    }

    fn transmit(&mut self, cx: &mut Cx<'_>, direction: Direction, room: Bytes, block: &mut MacPdu) -> Bytes {
        let used = self.bearer.transmit(cx, direction, room, &mut block.pdus);
        if let (Direction::Downlink, Some(credit)) = (direction, &mut self.credit) {
            let left = credit.fill(cx.now);
            credit.take(used.get().min(left)); // what it gets beyond its guaranteed bit rate is not counted
        }
        used
    }
}
