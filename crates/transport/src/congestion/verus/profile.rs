//! The delay profile: which delay follows from which window, as measured, and as a curve through the measurements.

use super::spline::Spline;

/// Windows that the profile has (`MAX_W_DELAY_CURVE`).
const WINDOW_MAX: usize = 40_000;
/// The weight of the delay that a window had before (`ewma` in `updateUponReceivingPacket`).
const KEPT: f64 = 0.875;
/// Windows for each node of the spline, at most and at least, and the logarithm of its penalty (`delayProfile_thread`).
const NODE_SPACING_MAX: usize = 15;
const NODES_MIN: usize = 5;
const PENALTY: f64 = 2.0;
/// Nodes at most (choice: the cost of a fit grows with their cube).
const NODES_MAX: usize = 100;

/// The delays that were measured, in milliseconds, by the window with which the packet was sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    delays: Vec<Option<f64>>,
}

impl Measured {
    /// Adds the delay of a packet.
    pub(super) fn add(&mut self, window: u32, delay: f64) {
        let window = (window as usize).min(WINDOW_MAX - 1);
        if self.delays.len() <= window {
            self.delays.resize(window + 1, None);
        }
        let mean = &mut self.delays[window];
        *mean = Some(mean.map_or(delay, |before| KEPT * before + (1.0 - KEPT) * delay));
    }

    /// Forgets the windows from this one on.
    pub(super) fn truncate(&mut self, window: u32) {
        self.delays.truncate(window as usize);
    }

    /// The curve through them; `None` if they are too few.
    pub(super) fn curve(&self) -> Option<Curve> {
        let points: Vec<(f64, f64)> = (1..)
            .zip(self.delays.get(1..)?)
            .filter_map(|(window, delay)| Some((f64::from(window), (*delay)?)))
            .collect();
        let largest = points.last()?.0 as usize;
        let spacing = (largest / NODES_MIN).min(NODE_SPACING_MAX);
        let nodes = largest.checked_div(spacing)?.min(NODES_MAX);
        Some(Curve::new(&Spline::fit(&points, nodes, PENALTY)?, largest))
    }
}

/// The curve, tabulated at whole windows.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// The delay at each window from 0 on.
    delays: Vec<f64>,
    /// The largest delay from window 2 up to each.
    rising: Vec<f64>,
    /// Of the straight line behind the last window, in milliseconds for each of it.
    slope: f64,
}

impl Curve {
    fn new(spline: &Spline, largest: usize) -> Self {
        let delays: Vec<f64> = (0..=largest.max(2)).map(|window| spline.at(window as f64)).collect();
        let mut most = f64::NEG_INFINITY;
        let rising = delays[2..].iter().map(|delay| {
            most = most.max(*delay);
            most
        });
        let rising = rising.collect();
        let last = delays.len() as f64;
        let slope = spline.at(last) - spline.at(last - 1.0);
        Self { delays, rising, slope }
    }

    /// The delay at a window.
    pub(super) fn delay(&self, window: f64) -> f64 {
        let last = self.delays.len() - 1;
        let below = (window.max(0.0) as usize).min(last);
        let beyond = window.max(0.0) - below as f64;
        let slope = self.delays.get(below + 1).map_or(self.slope, |next| next - self.delays[below]);
        self.delays[below] + beyond * slope
    }

    /// The last window before the first one, from 2 on, whose delay is above this (`calcDelayCurve`); `None` if there is
    /// none.
    pub(super) fn window(&self, delay: f64) -> Option<f64> {
        let above = self.rising.partition_point(|most| *most <= delay);
        if above < self.rising.len() {
            return Some((above + 1) as f64);
        }
        let last = (self.delays.len() - 1) as f64;
        let window = last + libm::floor((delay - self.delay(last)) / self.slope);
        (self.slope > 0.0 && window < (WINDOW_MAX - 1) as f64).then_some(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(windows: core::ops::Range<u32>) -> Measured {
        let mut measured = Measured::default();
        windows.for_each(|window| measured.add(window, 20.0 + 0.5 * f64::from(window)));
        measured
    }

    /// 20 ms and half a millisecond for each packet: 45.1 ms are first exceeded at 51, and 100.1 ms, on the line behind the
    /// last point, at 161.
    #[test]
    fn the_window_of_a_delay_is_before_the_first_that_exceeds_it() {
        let curve = line(5..100).curve().expect("enough points");
        for (delay, window) in [(10.0, 1.0), (45.1, 50.0), (100.1, 160.0)] {
            assert_eq!(curve.window(delay), Some(window), "{delay}");
        }
        assert!((curve.delay(30.5) - 35.25).abs() < 1e-6 && (curve.delay(200.0) - 120.0).abs() < 1e-6);
        assert_eq!(curve.window(1e6), None, "above 40000 packets");
    }

    #[test]
    fn a_window_keeps_seven_eighths_of_its_delay() {
        let mut measured = Measured::default();
        measured.add(7, 40.0);
        measured.add(7, 80.0);
        assert_eq!(measured.delays[7], Some(45.0));
    }

    #[test]
    fn too_few_windows_have_no_curve() {
        assert!(line(1..5).curve().is_none(), "windows up to 4");
        assert!(line(9..10).curve().is_none(), "one window");
        let mut cut = line(1..50);
        cut.truncate(5);
        assert!(cut.curve().is_none());
        assert!(Measured::default().curve().is_none());
    }

    /// A curve that falls reaches no larger delay.
    #[test]
    fn a_falling_curve_has_no_window_for_a_larger_delay() {
        let mut measured = Measured::default();
        (1..60).for_each(|window| measured.add(window, 90.0 - f64::from(window)));
        let curve = measured.curve().expect("enough points");
        assert_eq!((curve.window(100.0), curve.window(50.0)), (None, Some(1.0)));
    }
}
