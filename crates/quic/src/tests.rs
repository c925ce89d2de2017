//! Two endpoints over a wire of 20 ms each way without a rate, which loses or marks the datagrams
//! chosen by a test.

use std::collections::{BTreeMap, BTreeSet};

use airlane_core::{
    Bytes, Cx, Direction, Duration, Ecn, Event, FlowId, Instant, Outbox, PacketPool, PacketRef, Payload,
    Probe, Seeds, Topic, TopicSet,
};
use airlane_transport::congestion::{LossDiscrimination, MeldConfig, MeldVariant, RadioInformation};
use airlane_transport::{CongestionKind, Path};

use crate::{QuicConfig, QuicCrypto, QuicEndpoint, QuicEvent, QuicTimeouts, Role, StreamId};

const DELAY: Duration = Duration::from_millis(20);
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// The fate of a datagram.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Arrives,
    Lost,
    Marked,
    /// It arrives 150 ms later.
    Late,
}

/// The events of the server's sender.
#[derive(Default)]
struct Heard {
    states: Vec<(u64, Option<u64>)>,
    lost: u64,
    rtts: Vec<Duration>,
    /// Timeouts: time, consecutive number, and waiting time.
    timeouts: Vec<(Instant, u32, Duration)>,
    undone: usize,
    secrets: String,
}

impl Probe for Heard {
    fn topics(&self) -> TopicSet {
        [Topic::FlowState, Topic::SegmentLost, Topic::RttSample, Topic::Timeout, Topic::Secrets]
            .into_iter()
            .fold(TopicSet::NONE, TopicSet::with)
    }
    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        match *event {
            Event::Timeout { backoff, rto, .. } => self.timeouts.push((now, backoff, rto)),
            Event::TimeoutUndone { .. } => self.undone += 1,
            Event::Secrets { lines, .. } => self.secrets.push_str(lines),
            Event::FlowState { congestion_window, ssthresh, .. } => {
                self.states.push((congestion_window.get(), ssthresh.map(Bytes::get)));
            }
            Event::SegmentLost { .. } => self.lost += 1,
            Event::RttSample { rtt, .. } => self.rtts.push(rtt),
            _ => {}
        }
    }
}

impl Heard {
    fn ssthresh(&self) -> Vec<u64> {
        let mut values: Vec<u64> = self.states.iter().filter_map(|(_, ssthresh)| *ssthresh).collect();
        values.dedup();
        values
    }
}

struct Sent {
    at: Instant,
    from: usize,
    ecn: Ecn,
    datagram: Box<[u8]>,
}

/// The bytes that the server writes.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Zeros,
    /// Each byte tells its position, modulo a prime.
    Positions,
}

impl Content {
    fn byte(self, position: u64) -> u8 {
        if self == Self::Zeros { 0 } else { (position % 251) as u8 }
    }

    /// Writes the last `left` of `bytes` as far as there is room, and returns how many.
    fn write(self, end: &mut QuicEndpoint, id: StreamId, bytes: u64, left: u64) -> u64 {
        if self == Self::Zeros {
            return end.write(id, left);
        }
        let mut written = 0;
        while written < left {
            let from = bytes - left + written;
            let to = bytes.min(from + 2_000);
            let part: Vec<u8> = (from..to).map(|position| self.byte(position)).collect();
            let some = end.write_bytes(id, &part);
            written += some as u64;
            if some < part.len() {
                break;
            }
        }
        written
    }
}

/// The result of a transfer.
struct Outcome {
    content: Content,
    received: u64,
    at_end: bool,
    sent: Vec<Sent>,
    heard: Heard,
    under_way: usize,
}

impl Outcome {
    fn of_server(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(|sent| sent.from == SERVER)
    }
}

/// The server sends this many bytes to a client that requests them.
fn download(config: impl Fn() -> QuicConfig, bytes: u64, fate: impl FnMut(usize, u64) -> Fate) -> Outcome {
    download_told(config, (Content::Zeros, bytes), fate, |_| ())
}

fn download_told(
    config: impl Fn() -> QuicConfig,
    (content, bytes): (Content, u64),
    mut fate: impl FnMut(usize, u64) -> Fate,
    tell: impl Fn(&mut QuicEndpoint),
) -> Outcome {
    let path = |direction| Path::new(FlowId(0), direction);
    let silent = QuicConfig { sends_data: false, ..config() };
    let mut ends = [
        QuicEndpoint::new(silent, path(Direction::Uplink), Role::Client, 0),
        QuicEndpoint::new(config(), path(Direction::Downlink), Role::Server, 0),
    ];
    tell(&mut ends[SERVER]);
    let (mut pool, mut heard, mut outbox) = (PacketPool::default(), Heard::default(), Outbox::new());
    let mut wire: BTreeMap<(Instant, usize), (usize, PacketRef)> = BTreeMap::new();
    let mut outcome =
        Outcome { content, received: 0, at_end: false, sent: vec![], heard: Heard::default(), under_way: 0 };
    let (mut now, mut serial, mut left) = (Instant::ZERO, [0; 2], bytes);
    let mut stream = None;
    let mut begun = false;
    loop {
        let arrived = wire.first_key_value().is_some_and(|((at, _), _)| *at == now);
        let packet = if arrived { wire.pop_first().map(|(_, packet)| packet) } else { None };
        let topics = heard.topics();
        let mut cx = Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe: &mut heard };
        if !core::mem::replace(&mut begun, true) {
            ends[CLIENT].connect(&cx);
        }
        if let Some((to, packet)) = packet {
            let packet = cx.pool.consume(packet);
            let Payload::Bytes(datagram) = packet.payload else { panic!("real bytes") };
            ends[to].handle_datagram(&mut cx, packet.ecn, datagram);
        }
        for end in [CLIENT, SERVER] {
            ends[end].handle_timeout(&cx);
            while let Some(event) = ends[end].poll() {
                match event {
                    QuicEvent::Opened => stream = ends[end].accept(),
                    event if end == CLIENT => on_client(&mut ends[end], &cx, event, &mut outcome),
                    _ => {}
                }
            }
            if let (SERVER, Some(id)) = (end, stream) {
                left -= content.write(&mut ends[end], id, bytes, left);
                if left == 0 {
                    ends[end].finish(id);
                    stream = None;
                }
            }
            ends[end].flush(&mut cx);
            for (_, packet) in core::mem::take(cx.outbox) {
                let Payload::Bytes(datagram) = cx.pool.get(&packet).payload.clone() else { panic!("bytes") };
                let ecn = cx.pool.get(&packet).ecn;
                outcome.sent.push(Sent { at: now, from: end, ecn, datagram });
                serial[end] += 1;
                if let Some((delay, packet)) = carried(&mut cx, packet, fate(end, serial[end])) {
                    wire.insert((now + delay, outcome.sent.len()), (1 - end, packet));
                }
            }
        }
        let arrival = wire.first_key_value().map_or(Instant::FAR_FUTURE, |((at, _), _)| *at);
        let timer = ends[CLIENT].next_timeout().min(ends[SERVER].next_timeout());
        now = arrival.min(timer);
        if now > Instant::from_millis(100_000) {
            (outcome.heard, outcome.under_way) = (heard, pool.live());
            return outcome;
        }
    }
}

/// The delay of a packet and the packet, unless it is lost.
fn carried(cx: &mut Cx<'_>, packet: PacketRef, fate: Fate) -> Option<(Duration, PacketRef)> {
    if fate == Fate::Marked && cx.pool.get(&packet).ecn != Ecn::NotCapable {
        cx.pool.get_mut(&packet).ecn = Ecn::CongestionExperienced;
    }
    if fate == Fate::Lost {
        cx.pool.discard(packet, airlane_core::DropCause::RandomLoss);
        return None;
    }
    let more = if fate == Fate::Late { Duration::from_millis(150) } else { Duration::ZERO };
    Some((DELAY + more, packet))
}

/// The client asks for the data when it is connected, reads them, and closes at their end.
fn on_client(client: &mut QuicEndpoint, cx: &Cx<'_>, event: QuicEvent, outcome: &mut Outcome) {
    match event {
        QuicEvent::Connected => {
            let id = client.open().unwrap();
            assert_eq!(client.write(id, 1), 1);
            client.finish(id);
        }
        QuicEvent::Readable(id) => {
            let mut position = outcome.received;
            let read = client.read_with(id, |part| {
                let expected = |i: usize| outcome.content.byte(position + i as u64);
                assert!(part.iter().enumerate().all(|(i, byte)| *byte == expected(i)), "from {position}");
                position += part.len() as u64;
            });
            outcome.received += read.bytes;
            assert_eq!(outcome.received, position);
            outcome.at_end |= read.at_end;
            if read.at_end {
                client.close(cx);
            }
        }
        _ => {}
    }
}

fn config(congestion: CongestionKind) -> impl Fn() -> QuicConfig {
    move || QuicConfig { congestion, ..QuicConfig::quinn(Seeds::new(1)) }
}

fn newreno() -> impl Fn() -> QuicConfig {
    config(CongestionKind::NewReno)
}

const ALL_ARRIVE: fn(usize, u64) -> Fate = |_, _| Fate::Arrives;

#[test]
fn every_byte_arrives_whatever_is_lost() {
    for congestion in CongestionKind::ALL {
        for seed in 0..4 {
            let mut loss = Seeds::new(seed).stream("loss");
            let config = || QuicConfig { congestion, ..QuicConfig::quinn(Seeds::new(seed)) };
            let done =
                download(config, 300_000, |_, _| if loss.chance(0.03) { Fate::Lost } else { Fate::Arrives });
            assert_eq!(
                (done.received, done.at_end, done.under_way),
                (300_000, true, 0),
                "{congestion:?} {seed}"
            );
        }
    }
}

#[test]
fn a_seed_makes_the_same_datagrams_each_time() {
    for crypto in [QuicCrypto::Null, QuicCrypto::Tls] {
        let with = |seed| {
            let mut loss = Seeds::new(seed).stream("loss");
            let config = || QuicConfig { seeds: Seeds::new(seed), crypto, ..newreno()() };
            let done =
                download(config, 100_000, |_, _| if loss.chance(0.03) { Fate::Lost } else { Fate::Arrives });
            assert_eq!(done.received, 100_000);
            let sent = done.sent.into_iter().map(|sent| (sent.at, sent.from, sent.datagram));
            (sent.collect::<Vec<_>>(), done.heard.secrets)
        };
        let (one, again, another) = (with(1), with(1), with(2));
        assert!(one == again, "{crypto:?}");
        assert!(one != another, "{crypto:?}");
        assert_eq!(one.1.is_empty(), crypto == QuicCrypto::Null);
    }
}

/// Zeros that were written are on the wire as zeros, but not if they are encrypted; the key log is reported
/// before the server's second flight.
#[test]
fn tls_hides_what_it_carries() {
    let longest = |datagram: &[u8]| datagram.chunk_by(|a, b| a == b).map(<[u8]>::len).max().unwrap_or(0);
    let with = |crypto| download(|| QuicConfig { crypto, ..newreno()() }, 100_000, ALL_ARRIVE);
    let (null, tls) = (with(QuicCrypto::Null), with(QuicCrypto::Tls));
    let runs = |done: &Outcome| done.of_server().map(|sent| longest(&sent.datagram)).max();
    assert!(runs(&null) > Some(1_000) && runs(&tls) < Some(8), "{:?} {:?}", runs(&null), runs(&tls));
    // The same number of round trips: the certificate is short, and the server may answer with three times
    // the received bytes.
    let last = |done: &Outcome| done.sent.last().map(|sent| sent.at);
    assert_eq!(last(&null), last(&tls));
    let labels: Vec<&str> = tls.heard.secrets.lines().filter_map(|line| line.split(' ').next()).collect();
    let labels: BTreeSet<&str> = labels.into_iter().collect();
    for side in ["CLIENT", "SERVER"] {
        for stage in ["HANDSHAKE_TRAFFIC_SECRET", "TRAFFIC_SECRET_0"] {
            assert!(labels.contains(format!("{side}_{stage}").as_str()), "{labels:?}");
        }
    }
}

#[test]
fn an_initial_window_leaves_and_no_more() {
    // A probe of path MTU discovery would be in flight too.
    let fixed = || QuicConfig { mtu_discovery: false, ..newreno()() };
    let done = download(fixed, 100_000, ALL_ARRIVE);
    // The handshake takes from 0 to 40 ms, the request arrives at 60 ms, and the first acknowledgment of what
    // answers it at 100 ms: until then ten datagrams may be in flight (RFC 9002 §7.2), of which the server
    // has used part of one for connection ids sent with its handshake.
    let first: Vec<_> =
        done.of_server().filter(|s| (60..100).contains(&(s.at.as_nanos() / 1_000_000))).collect();
    assert!(first.iter().all(|sent| sent.datagram.len() == 1200));
    assert_eq!(first.len(), 9);
    // Round trips are those of the wire.
    assert_eq!(done.heard.rtts.iter().min(), Some(&(DELAY * 2)));
}

#[test]
fn keys_are_updated_under_way() {
    for crypto in [QuicCrypto::Null, QuicCrypto::Tls] {
        let done = download(|| QuicConfig { crypto, ..newreno()() }, 3_000_000, ALL_ARRIVE);
        assert_eq!(done.received, 3_000_000, "{crypto:?}");
    }
    let done = download(newreno(), 3_000_000, ALL_ARRIVE);
    // RFC 9000 §17.3.1: the key phase of packets with a short header.
    let short = done.of_server().map(|s| s.datagram[0]).filter(|first| first & 0x80 == 0);
    let phases: BTreeSet<u8> = short.map(|first| first & 0x04).collect();
    assert_eq!(phases.len(), 2);
}

#[test]
fn path_mtu_discovery_finds_what_the_path_carries() {
    let done = download(newreno(), 1_000_000, ALL_ARRIVE);
    assert_eq!(done.of_server().map(|s| s.datagram.len()).max(), Some(1452));
    let fixed = || QuicConfig { mtu_discovery: false, initial_mtu: 1500, mtu: 1500, ..newreno()() };
    let done = download(fixed, 1_000_000, ALL_ARRIVE);
    assert_eq!(done.of_server().map(|s| s.datagram.len()).max(), Some(1472));
    // A path that loses datagrams larger than 1300 bytes: detected by probes, which do not reduce
    // the window.
    let fixed = || QuicConfig { mtu: 1328, ..newreno()() };
    let done = download(fixed, 1_000_000, ALL_ARRIVE);
    assert_eq!(done.of_server().map(|s| s.datagram.len()).max(), Some(1300));
}

/// Losses of the flight that begins with packet 100, the last of them detected after the end of the
/// recovery period.
#[test]
fn the_losses_of_a_flight_cost_one_reduction() {
    let lost = [100, 103, 120];
    let done = download(newreno(), 1_000_000, |from, number| {
        if from == SERVER && lost.contains(&number) { Fate::Lost } else { Fate::Arrives }
    });
    assert_eq!((done.received, done.heard.lost), (1_000_000, 3));
    let ssthresh = done.heard.ssthresh();
    assert_eq!(ssthresh.len(), 1, "{ssthresh:?}");
    let before = done.heard.states.iter().take_while(|(_, ssthresh)| ssthresh.is_none()).last().unwrap().0;
    // RFC 9002 §7.3.2, for the window including the growth by the acknowledgment that showed the loss.
    assert!((before / 2..=before / 2 + 1452).contains(&ssthresh[0]), "{before} {ssthresh:?}");
}

/// Reductions of the window, except those by rounding to datagrams of another size.
fn falls(done: &Outcome) -> usize {
    done.heard.states.windows(2).filter(|pair| pair[1].0 + 1452 < pair[0].0).count()
}

/// MELD-DE with a good channel, a bad one, and no information.
#[test]
fn a_base_station_tells_what_a_loss_is() {
    let meld = MeldConfig::as_run(MeldVariant::De, Bytes(2292));
    let config = || QuicConfig { loss_discriminator: LossDiscrimination::Meld(meld), ..newreno()() };
    let lose = |from, number| if from == SERVER && number == 200 { Fate::Lost } else { Fate::Arrives };
    let block = |bytes| RadioInformation {
        measured_at: Instant::ZERO,
        transport_block: Bytes(bytes),
        resource_blocks: 25,
        cqi: 15,
        queue: Bytes::ZERO,
        cell_use: None,
    };
    let said = |bytes| move |server: &mut QuicEndpoint| server.on_radio_information(block(bytes));
    assert_eq!(falls(&download_told(config, (Content::Zeros, 1_000_000), lose, said(2292))), 0);
    assert_eq!(falls(&download_told(config, (Content::Zeros, 1_000_000), lose, said(100))), 1);
    assert_eq!(falls(&download(config, 1_000_000, lose)), 1);
}

#[test]
fn a_mark_is_a_reduction_without_a_loss() {
    let mark = |from, number| if from == SERVER && number == 200 { Fate::Marked } else { Fate::Arrives };
    let done = download(newreno(), 1_000_000, mark);
    assert_eq!((done.heard.lost, done.heard.ssthresh().len()), (0, 1));
    let deaf = || QuicConfig { ecn: false, ..newreno()() };
    assert_eq!(download(deaf, 1_000_000, mark).heard.ssthresh().len(), 0);
}

#[test]
fn silence_ends_a_connection() {
    // The server's packets stop arriving: probes continue, doubling, until the connection is given up.
    let done = download(newreno(), 1_000_000, |from, number| {
        if from == SERVER && number > 100 { Fate::Lost } else { Fate::Arrives }
    });
    assert!(!done.at_end);
    assert_eq!(done.under_way, 0);
    let last = done.sent.last().unwrap().at;
    assert!((Instant::from_millis(25_000)..Instant::from_millis(70_000)).contains(&last), "{last}");
}

/// RFC 9002 §6.2.1: each probe timeout without an answer waits twice as long as the one before, and does not
/// reduce the window.
#[test]
fn probe_timeouts_are_counted() {
    let done = download(newreno(), 1_000_000, |from, number| {
        if from == SERVER && number > 100 { Fate::Lost } else { Fate::Arrives }
    });
    let timeouts = &done.heard.timeouts;
    assert!(timeouts.len() > 5, "{timeouts:?}");
    // SRTT + max(4 RTTVAR, 1 ms) + 25 ms, over a wire of 40 ms.
    assert!((65..120).contains(&timeouts[0].2.as_millis()), "{timeouts:?}");
    for (number, pair) in timeouts.windows(2).enumerate() {
        assert_eq!(pair[1].1, number as u32 + 2);
        let ratio = pair[1].2.as_secs_f64() / pair[0].2.as_secs_f64();
        assert!((1.9..2.1).contains(&ratio), "{timeouts:?}");
    }
    assert_eq!(falls(&done), 0);
    assert_eq!(download(newreno(), 1_000_000, ALL_ARRIVE).heard.timeouts, []);
}

/// Everything sent from some packet on arrives 150 ms late, without losses. SRTT + 4 RTTVAR + 10 ms, with 4
/// RTTVAR at least the minimum round trip, is only 90 ms.
#[test]
fn a_delay_that_jumps_collapses_the_window_where_silence_does() {
    let late = |from, number| {
        if from == SERVER && number >= 300 { Fate::Late } else { Fate::Arrives }
    };
    let collapse = QuicTimeouts::Collapse { floor: Duration::from_millis(50) };
    for congestion in [CongestionKind::NewReno, CongestionKind::Cubic] {
        let probing = download(config(congestion), 1_000_000, late);
        assert_eq!((probing.received, probing.heard.undone), (1_000_000, 0));
        let lowest = probing.heard.states.iter().map(|(window, _)| *window).min();
        assert!(lowest >= Some(10 * 1200), "{lowest:?}");
        let collapsing = || QuicConfig { timeouts: collapse, mtu_discovery: false, ..config(congestion)() };
        let done = download(collapsing, 1_000_000, late);
        assert_eq!(done.received, 1_000_000);
        let [(_, 1, rto), ..] = done.heard.timeouts[..] else { panic!("{:?}", done.heard.timeouts) };
        assert!((Duration::from_millis(90)..Duration::from_millis(140)).contains(&rto), "{rto}");
        let after = done.heard.states.iter().position(|(window, _)| *window == 2 * 1200).unwrap();
        let before = done.heard.states[after - 1].0;
        // The packet whose timer fired is acknowledged after 190 ms. CUBIC restores the window;
        // NewReno never does.
        let undone = usize::from(congestion == CongestionKind::Cubic);
        assert_eq!(done.heard.undone, undone, "{congestion:?}");
        let returns = done.heard.states[after..].iter().take(4).any(|(window, _)| *window >= before);
        assert_eq!(
            returns,
            undone == 1,
            "{congestion:?}: {before} {:?}",
            &done.heard.states[after..after + 4]
        );
    }
}

/// RFC 9002 §7 allows the data in flight to reach the window; quinn sends only while it is below
/// the given value.
#[test]
fn quinn_is_told_one_byte_more_than_the_window() {
    use crate::shared::{Factory, Shared};
    use quinn_proto::congestion::ControllerFactory;
    let sender = Shared::new(&newreno()(), 1200, Seeds::new(1).stream("congestion"), Default::default());
    let mut controller = std::sync::Arc::new(Factory(sender)).build(crate::time::start(), 1200);
    assert_eq!((controller.window(), controller.metrics().congestion_window), (12_001, 12_000));
    assert_eq!(controller.initial_window(), 12_000);
    controller.on_mtu_update(1452);
    assert_eq!(controller.metrics().congestion_window, 8 * 1452); // as many bytes, in whole datagrams
}

/// Every tenth datagram of the server is marked: the controllers receive their number, and reduce by the share and not by
/// half each round trip. ECT(1) arrives where it should.
#[test]
fn scalable_controllers_receive_the_number_of_marks() {
    let mark = |from, number: u64| {
        if from == SERVER && number > 20 && number.is_multiple_of(10) { Fate::Marked } else { Fate::Arrives }
    };
    for crypto in [QuicCrypto::Null, QuicCrypto::Tls] {
        let done = |congestion| {
            let config = move || QuicConfig { crypto, ..config(congestion)() };
            let done = download(config, 3_000_000, mark);
            assert_eq!((done.received, done.heard.lost, done.under_way), (3_000_000, 0, 0));
            // ECN stays on: the last datagrams of the server are capable too.
            let code = if congestion == CongestionKind::Prague { Ecn::Capable1 } else { Ecn::Capable0 };
            let capable = done.sent.iter().filter(|sent| sent.from == SERVER && sent.ecn == code).count();
            let all = done.sent.iter().filter(|sent| sent.from == SERVER).count();
            assert_eq!(capable, all, "{congestion:?}");
            done.sent.last().unwrap().at
        };
        let [newreno, dctcp, prague] =
            [CongestionKind::NewReno, CongestionKind::Dctcp, CongestionKind::Prague].map(done);
        assert!(dctcp < newreno && prague < newreno, "{newreno} {dctcp} {prague}");
    }
}

/// A transfer over the wire of 40 ms round trip, whose flow control lets 100,000 bytes be in flight.
fn limited(congestion: CongestionKind, of_stream: bool) -> u64 {
    let (small, large) = (Bytes(100_000), Bytes(4_000_000));
    let config = || QuicConfig {
        congestion,
        stream_receive_window: if of_stream { small } else { large },
        receive_window: (!of_stream).then_some(small),
        ..QuicConfig::quinn(Seeds::new(1))
    };
    let done = download(config, 6_000_000, ALL_ARRIVE);
    assert_eq!((done.received, done.heard.lost), (6_000_000, 0));
    done.heard.states.iter().rev().map(|(window, _)| *window).take(100).max().unwrap_or(0)
}

/// draft-ietf-ccwg-bbr: STARTUP ends when the bandwidth has not grown for three rounds, also where flow control and not
/// the path limits it. The window is then twice what is delivered in a round trip, in STARTUP 2.89 times: 100,000 bytes
/// make a round trip of 40 ms.
#[test]
fn flow_control_is_no_limit_of_the_application() {
    for congestion in [CongestionKind::Bbr, CongestionKind::Bbr3] {
        for of_stream in [true, false] {
            let window = limited(congestion, of_stream);
            assert!((100_000..240_000).contains(&window), "{congestion:?} {of_stream}: {window}");
        }
    }
}

/// RFC 9002 §7.7: a sender paces at the rate of its controller. After silence that has made the smoothed round trip 2 s,
/// BBR's window of four packets in PROBE_RTT does not wait for a window per round trip.
#[test]
fn a_rate_of_the_controller_paces_alone() {
    let config = config(CongestionKind::Bbr);
    let sender = crate::shared::Shared::new(&config(), 1200, Seeds::new(1).stream("x"), Default::default());
    let mut own = sender.lock();
    assert!(!own.paces_alone(), "no rate before the first round trip");
    own.on_sent(Instant::from_millis(0), 1200);
    own.on_ack(Instant::from_millis(40), Instant::from_millis(0), 1200, Duration::from_millis(40));
    own.on_end_acks(Instant::from_millis(40), 0, crate::model::Supply::Sendable);
    own.settle(Instant::from_millis(40));
    assert!(own.paces_alone() && own.has_room());
    drop(own);
    let quinn: &dyn quinn_proto::congestion::Controller = &sender;
    assert!(quinn.window() > u64::from(u32::MAX), "quinn's pacer is off");
    let cubic = config_of_cubic();
    assert!(!cubic.lock().paces_alone());
    let quinn: &dyn quinn_proto::congestion::Controller = &cubic;
    assert!(quinn.window() < 100_000);
}

fn config_of_cubic() -> crate::shared::Shared {
    let config = config(CongestionKind::Cubic)();
    crate::shared::Shared::new(&config, 1200, Seeds::new(1).stream("x"), Default::default())
}

/// Every second of 6,000 datagrams that are in flight at once is lost, and later of 2,000: up to 3,000 gaps at
/// the receiver, of which quinn alone bears 1,024. All bytes arrive in their order.
#[test]
fn thousands_of_losses_in_one_window_are_repaired() {
    let window = Bytes(20_000_000);
    let config = || QuicConfig {
        initial_window: 6_000,
        stream_receive_window: window,
        receive_window: Some(window),
        send_window: window,
        ..newreno()()
    };
    let alternate = |from, number: u64| {
        let lossy = number > 10 && (number < 6_000 || (10_000..12_000).contains(&number));
        if from == SERVER && lossy && number.is_multiple_of(2) { Fate::Lost } else { Fate::Arrives }
    };
    let done = download_told(config, (Content::Positions, 15_000_000), alternate, |_| ());
    assert_eq!((done.received, done.at_end, done.under_way), (15_000_000, true, 0));
    // The first window was in flight as a whole.
    let first = done.sent.first().map(|sent| sent.at).unwrap_or_default();
    let early = done.of_server().filter(|sent| sent.at < first + Duration::from_millis(120)).count();
    assert!(early >= 6_000, "{early}");
}

/// RFC 9002 §7.7: packets with nothing but ACK frames are not paced. A client with a low rate of its own sends thousands of
/// them, and then an update of flow control with an ACK. The server receives it in time: it has no probe timeout, and
/// measures no round trip above that of the path.
#[test]
fn acknowledgments_are_not_paced() {
    for congestion in CongestionKind::ALL {
        let window = Bytes(32_000_000);
        let config = || QuicConfig {
            congestion,
            stream_receive_window: window,
            receive_window: Some(window),
            send_window: window,
            ..QuicConfig::quinn(Seeds::new(1))
        };
        let done = download(config, 20_000_000, ALL_ARRIVE);
        assert_eq!((done.received, done.at_end, done.heard.lost), (20_000_000, true, 0), "{congestion:?}");
        assert_eq!(done.heard.timeouts, [], "{congestion:?}");
        assert_eq!(done.heard.rtts.iter().max(), Some(&(DELAY * 2)), "{congestion:?}");
    }
}

/// RFC 9002 §2, §7: a packet with nothing but ACK frames is not in flight. quinn announces it like any other. It announces
/// no probe of the path MTU: there is nothing to count then.
#[test]
fn acknowledgments_are_not_in_flight() {
    let at = |ms: u64| crate::time::to_quinn(Instant::from_millis(ms));
    let mut sender = config_of_cubic();
    let state = |sender: &crate::shared::Shared| {
        let own = sender.lock();
        (own.state().2, own.last_sent_at())
    };
    for (ms, in_flight) in [(1, true), (2, false), (3, true)] {
        quinn_proto::congestion::Controller::on_sent(&mut sender, at(ms), 100, ms);
        assert_eq!(sender.count_announced(in_flight), in_flight);
    }
    assert!(!sender.count_announced(true));
    assert_eq!(state(&sender), (Bytes(200), Instant::from_millis(3)));
    // An ACK-only packet that is sent last is no send time, from which probe timers run.
    quinn_proto::congestion::Controller::on_sent(&mut sender, at(4), 100, 4);
    sender.count_announced(false);
    assert_eq!(state(&sender), (Bytes(200), Instant::from_millis(3)));
}
