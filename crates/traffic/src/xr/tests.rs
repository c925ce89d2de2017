use airlane_core::{Direction, FlowId, Outbox, PacketPool, Probe, Seeds, TopicSet};

use super::*;

/// Density and distribution function of the standard normal distribution.
fn density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x) / libm::sqrt(2.0 * core::f64::consts::PI)
}

fn distribution(x: f64) -> f64 {
    0.5 * libm::erfc(-x / core::f64::consts::SQRT_2)
}

/// Mean and variance of a truncated normal distribution in closed form (Johnson, Kotz and Balakrishnan, Continuous
/// Univariate Distributions 1, 2nd edition, section 13.10.1 (section unverified)).
fn moments(mean: f64, deviation: f64, [low, high]: [f64; 2]) -> (f64, f64) {
    let (a, b) = ((low - mean) / deviation, (high - mean) / deviation);
    let mass = distribution(b) - distribution(a);
    let shift = (density(a) - density(b)) / mass;
    let factor = 1.0 + (a * density(a) - b * density(b)) / mass - shift * shift;
    (mean + deviation * shift, deviation * deviation * factor)
}

#[test]
fn moments_of_truncated_draws_are_those_of_the_closed_form() {
    let mean = 62_500.0; // 30 Mbit/s at 60 frames/s
    let laws = [
        (mean, 0.105 * mean, [0.5 * mean, 1.5 * mean]), // sizes
        (0.0, 2e6, [-4e6, 4e6]),                        // jitter
        (0.0, 1.0, [-1.0, 3.0]),                        // bounds that move the mean
    ];
    let n = 200_000;
    for (i, (mean, deviation, bounds)) in laws.into_iter().enumerate() {
        let law = TruncatedNormal::new(mean, deviation, bounds);
        let mut draws = Seeds::new(1).stream(&format!("law/{i}"));
        let values: Vec<f64> = (0..n).map(|_| law.draw(&mut draws)).collect();
        assert!(values.iter().all(|x| (bounds[0]..=bounds[1]).contains(x)));
        let (expected, variance) = moments(mean, deviation, bounds);
        let average = values.iter().sum::<f64>() / f64::from(n);
        let squares = values.iter().map(|x| (x - expected) * (x - expected));
        let spread = squares.sum::<f64>() / f64::from(n);
        // Five standard errors each; the fourth moment of a truncated normal distribution is below that of a
        // normal one, 3 times its squared variance.
        assert!(
            (average - expected).abs() < 5.0 * libm::sqrt(variance / f64::from(n)),
            "{average} {expected}"
        );
        let error = variance * libm::sqrt(2.0 / f64::from(n));
        assert!((spread - variance).abs() < 5.0 * error, "{spread} {variance}");
    }
    // Of the jitter, whose bounds are two standard deviations apart from its mean, 1.76 ms are left of 2 ms.
    assert!((libm::sqrt(moments(0.0, 2e6, [-4e6, 4e6]).1) / 1e6 - 1.76).abs() < 0.005);
}

fn law(stream: FrameStream, period: Duration, size: f64, jitter: bool) -> FrameLaw {
    FrameLaw {
        stream,
        period,
        size: TruncatedNormal::new(size, 0.105 * size, [0.5 * size, 1.5 * size]),
        jitter: jitter.then(|| TruncatedNormal::new(0.0, 2e6, [-4e6, 4e6])),
        budget: Duration::from_millis(10),
    }
}

#[test]
fn jitter_moves_frames_around_their_period_and_does_not_add_up() {
    let period = Duration::from_nanos(16_666_667);
    let begin = Instant::from_millis(20);
    let draws = Seeds::new(2).stream("frames");
    let law = law(FrameStream::Video, period, 62_500.0, true);
    let mut frames = Frames::new(law, begin, Instant::from_millis(100_000), draws);
    let (mut n, mut bytes, mut nominal) = (0, 0, begin + Duration::from_millis(4));
    let mut last = Instant::ZERO;
    while frames.next_at() != Instant::FAR_FUTURE {
        let at = frames.next_at();
        let off = at.as_nanos().abs_diff(nominal.as_nanos());
        assert!(off <= 4_000_000 && at > last, "frame {n} at {at:?}, near {nominal:?}");
        (last, nominal, n) = (at, nominal + period, n + 1);
        bytes += frames.take().get();
    }
    assert!((5_998..=6_000).contains(&n), "{n} frames in 99.98 s");
    let rate = 8.0 * bytes as f64 / 99.98;
    assert!((rate / 30e6 - 1.0).abs() < 0.01, "{rate} bit/s");
}

/// The frames and the serials of packets that were sent.
#[derive(Default)]
struct Log {
    frames: Vec<(FrameStream, u64, u32, u64)>,
    packets: Vec<(u64, u32)>,
}

impl Probe for Log {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Frame).with(Topic::Sent)
    }

    fn observe(&mut self, _: Instant, event: &Event<'_>) {
        match *event {
            Event::FrameSent { frame, .. } => {
                self.frames.push((frame.stream, frame.first, frame.packets, frame.size.get()));
            }
            Event::Sent { packet, .. } => {
                let Header::Udp(header) = packet.header else { panic!("a datagram") };
                self.packets.push((header.serial, packet.payload.len()));
            }
            _ => {}
        }
    }
}

#[test]
fn a_frame_is_a_burst_of_datagrams_with_consecutive_serials() {
    let path = Path::new(FlowId(0), Direction::Uplink);
    let ms = Duration::from_millis;
    let pose = law(FrameStream::Pose, ms(4), 100.0, false);
    let video = law(FrameStream::UplinkVideo, ms(16), 20_000.0, true);
    let streams = [pose, video].map(|law| {
        let draws = Seeds::new(3).stream(law.stream.name());
        Frames::new(law, Instant::from_millis(8), Instant::from_millis(100), draws)
    });
    let mut end = XrEnd::new(path, Ecn::NotCapable, Bytes(1400), streams.into());
    let (mut pool, mut outbox, mut log) = (PacketPool::default(), Outbox::new(), Log::default());
    let topics = log.topics();
    while let Some(now) = end.next_timeout() {
        let mut cx = Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe: &mut log };
        end.handle_timeout(&mut cx);
    }
    let mut expected = 0;
    for (stream, first, packets, size) in &log.frames {
        assert_eq!(*first, expected, "the packets of {stream:?} follow those of the frame before");
        expected += u64::from(*packets);
        let own = &log.packets[*first as usize..expected as usize];
        assert_eq!(own.iter().map(|(_, bytes)| u64::from(*bytes)).sum::<u64>(), *size);
        assert!(own.iter().all(|(_, bytes)| *bytes <= 1400));
    }
    assert_eq!(
        log.packets.iter().map(|(serial, _)| *serial).collect::<Vec<_>>(),
        (0..expected).collect::<Vec<_>>()
    );
    let poses = log.frames.iter().filter(|frame| frame.0 == FrameStream::Pose).count();
    assert_eq!((poses, log.frames.len() - poses), (23, 6));
}
