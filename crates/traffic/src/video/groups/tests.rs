use airlane_core::Seeds;

use super::*;

const LENGTH: Duration = Duration::from_secs(90);
const SIZE: Bytes = Bytes(5_760_000);

fn law(correlation: Duration) -> GroupLaw {
    GroupLaw { group: Duration::from_millis(480), coefficient: 0.57, correlation }
}

fn sizes(groups: &Groups) -> Vec<f64> {
    (0..groups.ends.len()).map(|index| (groups.ends[index] - groups.begin(index)) as f64).collect()
}

/// A constant size is a straight line: 480 ms at 512 kbit/s are 30,720 bytes.
#[test]
fn without_deviation_all_groups_are_equal() {
    let law = GroupLaw { coefficient: 0.0, ..law(Duration::ZERO) };
    let groups = Groups::draw(&law, SIZE, LENGTH, &mut Seeds::new(1).stream("groups"));
    assert_eq!(groups.ends.len(), 188); // 187.5 groups, of which the last plays for 240 ms
    assert!(groups.ends[0].abs_diff(30_720) <= 1, "{}", groups.ends[0]);
    assert!(groups.bytes_of(Duration::from_secs(45)).get().abs_diff(2_880_000) <= 2);
    assert!(groups.media_of(Bytes(2_880_000)).abs_diff(Duration::from_secs(45)) < Duration::from_micros(50));
    assert_eq!(groups.media_of(SIZE), LENGTH);
    assert_eq!(groups.bytes_of(LENGTH), SIZE);
}

/// Of a long video: the coefficient of variation is the law's, and neighbours 480 ms apart correlate by
/// exp(-0.48 / 5) = 0.908 in their logarithms.
#[test]
fn moments_are_those_of_the_law() {
    let (length, size) = (Duration::from_secs(48_000), Bytes(3_072_000_000));
    let groups =
        Groups::draw(&law(Duration::from_secs(5)), size, length, &mut Seeds::new(3).stream("groups"));
    let sizes = sizes(&groups);
    let count = sizes.len() as f64;
    let mean = sizes.iter().sum::<f64>() / count;
    let variance = sizes.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>() / count;
    assert!((variance.sqrt() / mean - 0.57).abs() < 0.02, "{}", variance.sqrt() / mean);
    let logs: Vec<f64> = sizes.iter().map(|size| libm::log(*size)).collect();
    let centre = logs.iter().sum::<f64>() / count;
    let spread: f64 = logs.iter().map(|log| (log - centre) * (log - centre)).sum();
    let shared: f64 = logs.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    assert!((shared / spread - 0.908).abs() < 0.01, "{}", shared / spread);
}

/// Bytes and playing time are inverse to each other and ascend, also in files of few bytes.
#[test]
fn bytes_and_playing_time_are_inverse() {
    for seed in 0..100 {
        let s = &mut Seeds::new(seed).stream("inverse");
        let length = Duration::from_millis(1 + s.below(100_000));
        let size = Bytes(1 + s.below(5_000_000));
        let law = GroupLaw {
            group: Duration::from_millis(1 + s.below(2_000)),
            coefficient: s.uniform() * 2.0,
            correlation: Duration::from_millis(s.below(10_000)),
        };
        let groups = Groups::draw(&law, size, length, s);
        assert_eq!((groups.media_of(size), groups.bytes_of(length)), (length, size), "seed {seed}");
        let (mut bytes_before, mut media_before) = (Bytes::ZERO, Duration::ZERO);
        for step in 0..=200 {
            let bytes = Bytes(size.get() * step / 200);
            let media = groups.media_of(bytes);
            assert!(media >= media_before && media <= length, "seed {seed}");
            assert!(groups.bytes_of(media) <= bytes || media == length, "seed {seed}: {bytes:?}");
            let bytes = groups.bytes_of(Duration::from_nanos(length.as_nanos() / 200 * step));
            assert!(bytes >= bytes_before && bytes <= size, "seed {seed}");
            (media_before, bytes_before) = (media, bytes);
        }
    }
}
