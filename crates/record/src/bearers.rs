//! The packets of each bearer of the UEs that have dedicated ones: their delay in the radio access network, against the
//! delay budget of their class.

use airlane_core::{
    BitRate, Bytes, Direction, DropCause, Duration, Event, FlowId, Instant, Packet, Topic, TopicSet, UeId,
};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::histogram::Histogram;
use crate::log::{FinishedRun, Log};
use crate::table::{Table, direction_name};

/// A bearer.
#[derive(Clone, Debug, PartialEq)]
pub struct BearerDescription {
    /// Its UE.
    pub ue: UeId,
    /// Its class: QCI or 5QI.
    pub qi: u8,
    /// The resource type of the class.
    pub resource: &'static str,
    /// The packet delay budget of the class.
    pub budget: Duration,
    /// Its guaranteed bit rate.
    pub guaranteed: Option<BitRate>,
    /// False if the cell rejected it, so that its flows use the default bearer.
    pub is_admitted: bool,
    /// Its flows.
    pub flows: Vec<FlowId>,
}

/// The packets of a bearer in one direction.
#[derive(Clone, Debug, Default)]
struct Sums {
    delivered: u64,
    bytes: u64,
    lost: u64,
    in_time: u64,
    delay: Histogram,
}

/// Observes the packets of bearers.
#[derive(Debug)]
pub(crate) struct BearerLog {
    bearers: Vec<BearerDescription>,
    /// By flow, the place of its bearer.
    places: Vec<Option<u32>>,
    sums: Vec<[Sums; 2]>,
    measured: (Instant, Instant),
}

impl BearerLog {
    fn new(parameters: &RecorderParameters) -> Self {
        let mut log = Self {
            bearers: Vec::new(),
            places: Vec::new(),
            sums: Vec::new(),
            measured: (parameters.warmup, parameters.end),
        };
        log.add(parameters);
        log
    }

    /// Adds the bearers that are new.
    fn add(&mut self, parameters: &RecorderParameters) {
        self.bearers.clone_from(&parameters.bearers);
        self.sums.resize_with(self.bearers.len(), Default::default);
        self.places = vec![None; parameters.flows.len()];
        for (place, bearer) in (0..).zip(&self.bearers) {
            bearer.flows.iter().for_each(|flow| self.places[flow.index()] = Some(place));
        }
    }

    fn of(&mut self, now: Instant, packet: &Packet) -> Option<(&mut Sums, Duration)> {
        let (warmup, end) = self.measured;
        let place = (*self.places.get(packet.flow.index())?)? as usize;
        let sums = &mut self.sums[place][packet.direction as usize];
        (warmup < now && now <= end).then_some((sums, self.bearers[place].budget))
    }

    fn table(&self, run: &FinishedRun<'_>) -> Table {
        let directions = [Direction::Downlink, Direction::Uplink];
        let of =
            |place: usize| directions.map(|way| (&self.bearers[place], way, &self.sums[place][way as usize]));
        let rows: Vec<_> = (0..self.bearers.len()).flat_map(of).collect();
        let measured = self.measured.1.saturating_since(self.measured.0).as_secs_f64();
        let ms = |value: Option<u64>| value.map_or(f64::NAN, |ns| ns as f64 / 1e6);
        let mbps = |rate: BitRate| rate.0 as f64 / 1e6;
        let each = |value: &dyn Fn(&Sums) -> f64| rows.iter().map(|row| value(row.2)).collect::<Vec<_>>();
        let mut table = Table::default();
        let names = rows.iter().map(|row| run.parameters.hosts[row.0.ue.index()].as_str());
        table.push_text("ue", names).means("UE");
        table.push_count("qi", rows.iter().map(|row| u64::from(row.0.qi))).means("QoS class: QCI or 5QI");
        table.push_text("direction", rows.iter().map(|row| direction_name(row.1))).means("direction");
        table.push_text("resource_type", rows.iter().map(|row| row.0.resource)).means("resource type");
        let admitted = rows.iter().map(|row| if row.0.is_admitted { "yes" } else { "no" });
        table.push_text("admitted", admitted).means("whether the cell admitted the bearer");
        table
            .push_f64("gbr_mbps", rows.iter().map(|row| row.0.guaranteed.map_or(f64::NAN, mbps)))
            .means("guaranteed bit rate");
        table
            .push_f64("budget_ms", rows.iter().map(|row| ms(Some(row.0.budget.as_nanos()))))
            .means("packet delay budget of the class");
        table.push_count("packets", rows.iter().map(|row| row.2.delivered)).means("packets delivered");
        table.push_count("lost", rows.iter().map(|row| row.2.lost)).means("packets dropped on the path");
        table
            .push_f64("rate_mbps", each(&|sums| sums.bytes as f64 * 8.0 / 1e6 / measured))
            .means("rate of the packets delivered, IP headers included");
        for (name, percent) in [("delay_p50_ms", 50), ("delay_p98_ms", 98), ("delay_p100_ms", 100)] {
            let delay = each(&|sums| ms(sums.delay.percentile(percent)));
            let what = format!("percentile {percent} of the delay from queue to delivery by PDCP");
            table.push_f64(name, delay).means(what);
        }
        let in_time = |sums: &Sums| match sums.delivered + sums.lost {
            0 => f64::NAN,
            all => sums.in_time as f64 / all as f64,
        };
        table
            .push_f64("within_budget", each(&in_time))
            .means("share of delivered and lost packets that were delivered within the delay budget");
        table
    }
}

impl Log for BearerLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        (!parameters.bearers.is_empty()).then(|| Self::new(parameters))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::SduDelivered).with(Topic::Dropped)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        match *event {
            Event::SduDelivered { packet, queued_at, .. } => {
                let Bytes(bytes) = packet.size;
                let Some((sums, budget)) = self.of(now, packet) else { return };
                let delay = now.saturating_since(queued_at);
                (sums.delivered, sums.bytes) = (sums.delivered + 1, sums.bytes + bytes);
                sums.in_time += u64::from(delay <= budget);
                sums.delay.record(delay.as_nanos());
            }
            // A packet that an endpoint could not use has arrived.
            Event::Dropped { packet, cause } if cause != DropCause::Endpoint => {
                if let Some((sums, _)) = self.of(now, packet) {
                    sums.lost += 1;
                }
            }
            _ => {}
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        self.add(parameters);
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("bearers", self.table(run))]
    }
}
