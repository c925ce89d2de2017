//! Multi-domain congestion control, with a PEP before the link of the harness: the PEP has seen the
//! packets that the link drops, but not those that the test drops.

use airlane_core::{
    Bytes, Cx, Direction, Duration, Ecn, FlowId, Header, Instant, Mss, Outbox, PacketPool, SackBlock, Seeds,
    Silence, TcpFlags, TcpHeader, TcpSynOptions, TopicSet,
};
use airlane_transport::congestion::{InflightScope, LawParameters, MdccConfig, SlowStartClock};
use airlane_transport::{CongestionKind, Path, PepReport, ReceiveWindowKind, TcpConfig, TcpEndpoint};

use crate::harness::{FlowConfig, Harness, LinkConfig, Report, RunResult};

/// Round trip between server and PEP.
const PEP_RTT: Duration = Duration::from_millis(10);
const SEGMENT: u64 = 1448;

fn config(congestion: CongestionKind) -> TcpConfig {
    TcpConfig { congestion, ..TcpConfig::linux() }
}

fn flow(sender: TcpConfig, bytes: Option<u64>) -> FlowConfig {
    FlowConfig { sender, receiver: TcpConfig::linux(), start: Instant::ZERO, bytes }
}

/// A PEP that reports correctly, from a model that stores each segment.
#[derive(Default)]
struct Honest {
    seen: std::collections::BTreeMap<u32, u32>,
    /// The last segments, to count how many passed above a hole.
    order: Vec<u32>,
}

impl Honest {
    fn see(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        payload: u32,
        lost: bool,
    ) -> Option<(Instant, Report)> {
        if lost {
            return None;
        }
        let newest = SackBlock { left: header.sequence, right: header.sequence + payload };
        self.seen.insert(newest.left, newest.right);
        self.order.push(newest.left);
        let (mut cumulative, mut ranges, mut holes) = (1, Vec::<SackBlock>::new(), Vec::new());
        for (&left, &right) in &self.seen {
            match ranges.last_mut() {
                None if left <= cumulative => cumulative = cumulative.max(right),
                Some(last) if left <= last.right => last.right = last.right.max(right),
                _ => {
                    let from = ranges.last().map_or(cumulative, |last| last.right);
                    if self.order.iter().rev().take(3).all(|&recent| recent >= left) {
                        holes.push(SackBlock { left: from, right: left });
                    }
                    ranges.push(SackBlock { left, right });
                }
            }
        }
        Some((now + PEP_RTT, Report { newest, first: 1, cumulative, ranges, holes }))
    }
}

/// Reductions of each window: (internet, radio).
fn reductions(run: &RunResult) -> (usize, usize) {
    let drops = |at: usize| run.domains.windows(2).filter(|w| w[1].1[at] < w[0].1[at]).count();
    (drops(0), drops(1))
}

#[test]
fn a_loss_before_the_pep_is_the_internets_and_is_repaired_at_once() {
    let mut pep = Honest::default();
    let mut harness = Harness::new(
        LinkConfig::new(50, 100, 4 << 20),
        vec![flow(config(CongestionKind::Mdcc), Some(4 << 20))],
    );
    harness.fate = Some(Box::new(|n, _, _, _| n == 300));
    harness.pep = Some(Box::new(|now, header, payload, lost| pep.see(now, header, payload, lost)));
    let run = harness.run(Instant::from_millis(20_000));
    let stats = run.flows[0].sender;
    assert_eq!((stats.pep_losses, stats.retransmissions, stats.segments_lost), (1, 1, 1));
    assert_eq!(reductions(&run), (1, 0));
    let step = run.domains.windows(2).find(|w| w[1].1[0] < w[0].1[0]).unwrap();
    // RFC 9438 §4.6: to 0.7 (717/1024 in whole segments).
    assert_eq!(step[1].1[0] / SEGMENT, step[0].1[0] / SEGMENT * 717 / 1024);
    // The report and three more segments: not the hundred milliseconds of the client.
    let again = run.sent.iter().find(|s| s.again).unwrap();
    let first = run.sent.iter().find(|s| s.offset == again.offset).unwrap();
    assert!(again.at - first.at < PEP_RTT * 3, "{:?}", again.at - first.at);
    assert_eq!(stats.bytes_acked.get(), 4 << 20);
}

#[test]
fn a_loss_behind_the_pep_is_the_radios() {
    let mut pep = Honest::default();
    let link = LinkConfig { loss: 0.001, loss_seed: 4, ..LinkConfig::new(50, 50, 4 << 20) };
    let mut harness = Harness::new(link, vec![flow(config(CongestionKind::Mdcc), None)]);
    harness.pep = Some(Box::new(|now, header, payload, lost| pep.see(now, header, payload, lost)));
    let run = harness.run(Instant::from_millis(10_000));
    let (internet, ran) = reductions(&run);
    assert!(internet == 0 && ran > 5, "{internet} and {ran} reductions, {} losses", run.random_drops);
    assert_eq!(run.flows[0].sender.pep_losses, 0);
    let step = run.domains.windows(2).find(|w| w[1].1[1] < w[0].1[1]).unwrap();
    let (before, after) = (step[0].1[1] / SEGMENT, step[1].1[1] / SEGMENT);
    assert_eq!(after, before - before / 8); // Kelly 2003 §3
}

/// In congestion avoidance a = 0.1 per acknowledgment, independent of its size.
#[test]
fn the_radio_window_grows_by_a_tenth_of_each_acknowledgment() {
    let (mut pep, mut acknowledgments) = (Honest::default(), 0_u64);
    let (from, until) = (Instant::from_millis(1_000), Instant::from_millis(3_000));
    let one_way = Duration::from_millis(50);
    // 10 Gbit/s: no queue, so the window grows undisturbed.
    let link = LinkConfig::new(10_000, 100, 64 << 20);
    let mut harness = Harness::new(link, vec![flow(config(CongestionKind::Mdcc), None)]);
    // Lost, although the PEP reports it as seen: slow start of the radio window ends.
    harness.fate = Some(Box::new(|n, _, _, _| n == 200));
    harness.pep = Some(Box::new(|now, header, payload, _| pep.see(now, header, payload, false)));
    harness.fate_back = Some(Box::new(|_, now, _, _| {
        acknowledgments += u64::from(from < now + one_way && now + one_way <= until);
        false
    }));
    let run = harness.run(Instant::from_millis(3_500));
    assert_eq!(reductions(&run), (0, 1));
    let window = |at: Instant| run.domains.iter().rfind(|(t, _)| *t <= at).unwrap().1[1] / SEGMENT;
    let (before, after) = (window(from), window(until));
    assert!((after - before).abs_diff(acknowledgments / 10) <= 2, "{before} to {after}: {acknowledgments}");
    assert!(after > 2 * before, "{before} to {after}"); // more than half of the segments: e^(20/20)
}

#[test]
fn a_pep_that_falls_silent_is_done_without() {
    let goodput = |dies_at: u64| {
        let mut pep = Honest::default();
        let mut harness =
            Harness::new(LinkConfig::new(20, 50, 256 << 10), vec![flow(config(CongestionKind::Mdcc), None)]);
        harness.fate = Some(Box::new(|n, _, _, _| n % 3000 == 2999));
        harness.pep = Some(Box::new(move |now, header, payload, lost| {
            let report = pep.see(now, header, payload, lost);
            report.filter(|_| now < Instant::from_millis(dies_at))
        }));
        let run = harness.run(Instant::from_millis(12_000));
        let at = |ms| run.flows[0].samples.iter().find(|s| s.at >= Instant::from_millis(ms)).unwrap().stats;
        assert_eq!(at(11_900).timeouts, 0);
        (at(11_900).bytes_acked.get() - at(5_000).bytes_acked.get(), reductions(&run).0)
    };
    let (with, _) = goodput(u64::MAX / 2_000_000);
    let (without, reductions) = goodput(4_000);
    assert!(without * 10 > with * 8, "{without} of {with} bytes");
    assert!(reductions > 2, "losses that nobody places are the internet's");
}

#[test]
fn without_a_pep_it_is_about_cubic() {
    let acked = |congestion| {
        let mut harness =
            Harness::new(LinkConfig::new(20, 50, 128 << 10), vec![flow(config(congestion), None)]);
        harness.fate = Some(Box::new(|n, _, _, _| n % 2000 == 1999));
        harness.run(Instant::from_millis(30_000)).flows[0].sender.bytes_acked.get()
    };
    let (mdcc, cubic) = (acked(CongestionKind::Mdcc), acked(CongestionKind::Cubic));
    assert!(mdcc.abs_diff(cubic) * 20 < cubic, "{mdcc} and {cubic} bytes");
}

#[test]
fn who_claims_what_was_never_sent_is_not_believed_again() {
    let mut pep = Honest::default();
    let mut harness = Harness::new(
        LinkConfig::new(50, 50, 1 << 20),
        vec![flow(config(CongestionKind::Mdcc), Some(1 << 20))],
    );
    let mut segments = 0;
    harness.pep = Some(Box::new(move |now, header, payload, lost| {
        segments += 1;
        let (at, mut report) = pep.see(now, header, payload, lost)?;
        if segments == 100 {
            report.cumulative += 1 << 20;
        }
        Some((at, report))
    }));
    let run = harness.run(Instant::from_millis(20_000));
    let stats = run.flows[0].sender;
    assert!(stats.pep_reports < 100 && stats.pep_reports_refused > 500, "{stats:?}");
    assert_eq!((stats.bytes_acked.get(), stats.retransmissions, stats.timeouts), (1 << 20, 0, 0));
}

/// Data seen by the PEP does not count against the internet window: behind a long radio path, the radio
/// window is the limit.
#[test]
fn per_domain_the_internet_window_limits_what_the_pep_has_not_seen() {
    let above = |inflight_scope| {
        let mut pep = Honest::default();
        let mdcc = MdccConfig { inflight_scope, ..MdccConfig::PAPER };
        let laws = LawParameters { mdcc, ..LawParameters::DEFAULT };
        let sender = TcpConfig { laws, ..config(CongestionKind::Mdcc) };
        let mut harness = Harness::new(LinkConfig::new(50, 100, 4 << 20), vec![flow(sender, None)]);
        // Losses before the PEP keep the internet window small.
        harness.fate = Some(Box::new(|n, _, _, _| n % 400 == 399));
        harness.pep = Some(Box::new(|now, header, payload, lost| pep.see(now, header, payload, lost)));
        let run = harness.run(Instant::from_millis(5_000));
        for (_, [_, ran, in_flight]) in &run.domains {
            assert!(in_flight <= ran || run.flows[0].sender.loss_probes > 0);
        }
        run.domains.iter().filter(|(_, [internet, _, in_flight])| in_flight > internet).count()
    };
    let (end_to_end, per_domain) = (above(InflightScope::EndToEnd), above(InflightScope::PerDomain));
    assert!(per_domain > 20 * end_to_end.max(1), "{per_domain} and {end_to_end}");
}

/// Time until 1 MB, 691 segments, has been sent. Six doublings follow the first window of 10 (RFC 6928).
fn sent_after(mdcc: MdccConfig) -> Duration {
    let mut pep = Honest::default();
    let laws = LawParameters { mdcc, ..LawParameters::DEFAULT };
    let sender = TcpConfig { laws, hystart: false, ..config(CongestionKind::Mdcc) };
    let receive_window = ReceiveWindowKind::Fixed(Bytes(32 << 20));
    let receiver = TcpConfig { receive_window, ..TcpConfig::linux() };
    let one = FlowConfig { sender, receiver, start: Instant::ZERO, bytes: Some(1_000_000) };
    let mut harness = Harness::new(LinkConfig::new(10_000, 100, 64 << 20), vec![one]);
    harness.pep = Some(Box::new(|now, header, payload, lost| pep.see(now, header, payload, lost)));
    let run = harness.run(Instant::from_millis(3_000));
    assert_eq!(run.flows[0].sender.bytes_acked.get(), 1_000_000);
    run.sent.last().unwrap().at - run.sent.first().unwrap().at
}

#[test]
fn slow_start_doubles_with_the_round_trip_of_its_clock() {
    let after = |slow_start, inflight_scope| {
        let config = MdccConfig { slow_start, inflight_scope, ..MdccConfig::PAPER };
        sent_after(config).as_nanos() as f64 / 1e6
    };
    // The client is 100 ms away, so six of its round trips.
    let client = after(SlowStartClock::Client, InflightScope::EndToEnd);
    assert!((600.0..640.0).contains(&client), "{client} ms");
    // The PEP is 10 ms away: while no client has acknowledged anything, each of its round trips lets the next ten
    // segments go, so 100 in the first 100 ms.
    let pep = after(SlowStartClock::Pep, InflightScope::EndToEnd);
    assert!((100.0..350.0).contains(&pep), "{pep} ms");
    // The data that the PEP has not seen doubles in each of its round trips, but the window of the SYN-ACK has no
    // scale (RFC 7323 §2.2): 65,535 bytes, 45 segments, until the client's first acknowledgment. Then the windows of
    // 55, 110, 220 and 440 segments contain the rest.
    let sent = after(SlowStartClock::Sent, InflightScope::PerDomain);
    assert!((130.0..132.0).contains(&sent), "{sent} ms");
}

/// Scalable without a PEP: the radio window alone, whose losses take an eighth (Kelly 2003 §3).
#[test]
fn without_an_internet_window_a_loss_takes_an_eighth_and_no_pep_is_needed() {
    let mdcc = MdccConfig { inflight_scope: InflightScope::RanOnly, ..MdccConfig::PAPER };
    let laws = LawParameters { mdcc, ..LawParameters::DEFAULT };
    let sender = TcpConfig { laws, ..config(CongestionKind::Mdcc) };
    let mut harness = Harness::new(LinkConfig::new(50, 100, 4 << 20), vec![flow(sender, None)]);
    harness.fate = Some(Box::new(|n, _, _, _| n == 300 || n == 3_000));
    harness.pep = Some(Box::new(|_, _, _, _| None)); // to record both windows
    let run = harness.run(Instant::from_millis(5_000));
    let ran: Vec<u64> = run.domains.iter().map(|(_, [_, ran, _])| ran / SEGMENT).collect();
    let falls: Vec<_> = ran.windows(2).filter(|w| w[1] < w[0]).map(|w| (w[0], w[1])).collect();
    assert_eq!(falls.len(), 2, "{falls:?}");
    for (before, after) in falls {
        assert_eq!(after, before - before / 8);
    }
}

/// For any reports of a PEP, at most the initial window and one segment for each that the client
/// has acknowledged is in flight, apart from probes.
#[test]
fn no_report_lets_more_go_than_the_client_has_acknowledged() {
    for seed in 0..60 {
        let mut adversary = Adversary::new(seed);
        for _ in 0..400 {
            adversary.step();
            let stats = adversary.endpoint.stats();
            let allowed = 10 + adversary.acknowledged + stats.loss_probes + 2 * stats.timeouts;
            let in_flight = stats.in_flight.get() / SEGMENT;
            assert!(in_flight <= allowed, "seed {seed}: {in_flight} of {allowed}");
        }
        assert!(adversary.acknowledged > 100, "seed {seed} looks at little: {}", adversary.acknowledged);
    }
}

/// A client and a PEP whose messages are random.
struct Adversary {
    endpoint: TcpEndpoint,
    pool: PacketPool,
    now: Instant,
    chance: airlane_core::Stream,
    /// Sequence numbers sent, and acknowledged.
    sent: u32,
    acked: u32,
    sacked: Vec<SackBlock>,
    /// Segments that the client has acknowledged, cumulatively or selectively.
    acknowledged: u64,
}

impl Adversary {
    fn new(seed: u64) -> Self {
        let mut chance = Seeds::new(seed).stream("adversary");
        let inflight_scope =
            if chance.chance(0.5) { InflightScope::EndToEnd } else { InflightScope::PerDomain };
        let mdcc = MdccConfig { inflight_scope, ..MdccConfig::PAPER };
        let laws = LawParameters { mdcc, ..LawParameters::DEFAULT };
        let path = Path::new(FlowId(0), Direction::Downlink);
        let tcp = TcpConfig { laws, timestamps: false, mtu: 1488, ..config(CongestionKind::Mdcc) };
        let mut endpoint = TcpEndpoint::new(tcp, path);
        endpoint.supply_endless();
        let mut new = Self {
            endpoint,
            pool: PacketPool::default(),
            now: Instant::ZERO,
            chance,
            sent: 1,
            acked: 1,
            sacked: Vec::new(),
            acknowledged: 0,
        };
        new.call(|endpoint, cx| endpoint.connect(cx));
        new.now = Instant::from_millis(50);
        let syn = TcpHeader {
            acknowledgment: 1,
            window: u16::MAX,
            flags: TcpFlags(TcpFlags::SYN | TcpFlags::ACK),
            syn: TcpSynOptions {
                mss: Some(Mss(1448)),
                window_scale: Some(14),
                sack_permitted: true,
                ..TcpSynOptions::default()
            },
            ..TcpHeader::default()
        };
        new.segment(&syn);
        new
    }

    fn call(&mut self, call: impl FnOnce(&mut TcpEndpoint, &mut Cx<'_>)) {
        let (mut outbox, mut probe) = (Outbox::new(), Silence);
        let topics = TopicSet::NONE;
        let mut cx =
            Cx { now: self.now, pool: &mut self.pool, outbox: &mut outbox, topics, probe: &mut probe };
        call(&mut self.endpoint, &mut cx);
        self.endpoint.flush(&mut cx);
        for (_, packet) in outbox {
            let packet = self.pool.consume(packet);
            let Header::Tcp(header) = packet.header else { continue };
            self.sent = self.sent.max(header.sequence + packet.payload.len());
        }
    }

    fn segment(&mut self, header: &TcpHeader) {
        self.call(|endpoint, cx| {
            endpoint.handle_segment(cx, header, Ecn::NotCapable, 0);
        });
    }

    /// A random number near the sent ones, most often a segment boundary.
    fn number(&mut self, up_to: u32) -> u32 {
        let span = u64::from((up_to - self.acked) / SEGMENT as u32) + 1;
        let at = self.acked + self.chance.below(span) as u32 * SEGMENT as u32;
        if self.chance.chance(0.1) { at + self.chance.below(3000) as u32 } else { at }
    }

    fn block(&mut self) -> SackBlock {
        let (a, b) = (self.number(self.sent), self.number(self.sent));
        SackBlock { left: a.min(b), right: a.max(b) }
    }

    fn step(&mut self) {
        self.now += Duration::from_micros(self.chance.below(8_000));
        match self.chance.below(10) {
            0..4 => self.acknowledge(),
            4..9 => self.report(),
            _ => {
                self.now = self.now.max(self.endpoint.next_timeout().min(self.now + Duration::from_secs(1)));
                self.call(|endpoint, cx| endpoint.handle_timeout(cx));
            }
        }
    }

    fn acknowledge(&mut self) {
        let segment = SEGMENT as u32;
        let new = self.chance.below(4) as u32 * segment;
        let to = (self.acked + new).min(self.sent);
        let before = |from: u32, to: u32, sacked: &[SackBlock]| {
            let inside = |s: &u32| sacked.iter().any(|b| b.left <= *s && s + segment <= b.right);
            (from..to).step_by(segment as usize).filter(|s| !inside(s)).count() as u64
        };
        self.acknowledged += before(self.acked, to, &self.sacked);
        self.acked = to;
        self.sacked.retain(|b| b.right > to);
        if self.chance.chance(0.3) && self.sent > self.acked + 2 * segment {
            let most = u64::from((self.sent - self.acked) / segment);
            let left = self.acked + segment * (1 + self.chance.below(most - 1) as u32);
            let block = SackBlock { left, right: left + segment };
            self.acknowledged += before(block.left, block.right, &self.sacked);
            self.sacked.push(block);
        }
        let mut header = TcpHeader {
            acknowledgment: self.acked,
            sequence: 1,
            window: u16::MAX,
            flags: TcpFlags(TcpFlags::ACK),
            ..TcpHeader::default()
        };
        for block in self.sacked.iter().rev() {
            if block.left >= self.acked && !header.sack.push(*block) {
                break;
            }
        }
        self.segment(&header);
    }

    fn report(&mut self) {
        let list = |this: &mut Self| (0..this.chance.below(4)).map(|_| this.block()).collect::<Vec<_>>();
        let (ranges, holes) = (list(self), list(self));
        // Occasionally an impossible claim; all later reports are then rejected, so most seeds have
        // none.
        let up_to = if self.chance.chance(0.0005) { self.sent + 100_000 } else { self.sent };
        let report = PepReport {
            delay: Duration::from_micros(self.chance.below(20_000)),
            newest: self.block(),
            first: self.number(self.sent),
            cumulative: self.number(up_to).min(up_to),
            ranges: &ranges,
            holes: &holes,
        };
        self.call(|endpoint, cx| endpoint.handle_pep_report(cx, &report));
    }
}
