//! A proxy for the quality of the picture: VMAF over bits per pixel.

/// Bits per pixel and VMAF (v0.6.1 of the model, at source size) of "Big Buck Bunny" at 640x360 and 25 frames per second, which
/// libvpx encoded as VP8 with its real-time settings to 200.5, 298.4, 497.8, 697.3, 997.6 and 1484.6 kbit/s. Measured for
/// this project. Other contents differ by more than 10 points at equal bits per pixel.
const MEASURED: [(f64, f64); 6] = [
    (200_500.0 / PIXELS, 67.96),
    (298_400.0 / PIXELS, 76.46),
    (497_800.0 / PIXELS, 84.85),
    (697_300.0 / PIXELS, 88.63),
    (997_600.0 / PIXELS, 91.27),
    (1_484_600.0 / PIXELS, 92.84),
];

/// Pixels per second of what was measured.
const PIXELS: f64 = 640.0 * 360.0 * 25.0;

/// The VMAF of a video of so many bits per pixel: between the measured points by the logarithm of the bits, and of less or more
/// than was measured (0.035 to 0.258 bits per pixel) that of the nearest point.
#[must_use]
pub(super) fn vmaf(bits_per_pixel: f64) -> f64 {
    let above = MEASURED.iter().position(|(bits, _)| *bits > bits_per_pixel);
    match above {
        None => MEASURED[MEASURED.len() - 1].1,
        Some(0) => MEASURED[0].1,
        Some(i) => {
            let ((low, from), (high, to)) = (MEASURED[i - 1], MEASURED[i]);
            from + (to - from) * libm::log(bits_per_pixel / low) / libm::log(high / low)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_passes_through_what_was_measured_and_rises() {
        for (bits, quality) in MEASURED {
            assert!((vmaf(bits) - quality).abs() < 1e-9);
        }
        // Half way between 298.4 and 497.8 kbit/s by their logarithms.
        let middle = (298_400.0f64 * 497_800.0).sqrt() / PIXELS;
        assert!((vmaf(middle) - (76.46 + 84.85) / 2.0).abs() < 1e-9);
        assert_eq!((vmaf(0.001), vmaf(1.0)), (67.96, 92.84));
        let rises = (1..300).map(|i| vmaf(f64::from(i) / 1000.0)).collect::<Vec<_>>();
        assert!(rises.is_sorted());
    }
}
