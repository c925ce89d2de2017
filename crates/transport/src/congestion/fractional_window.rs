//! A window with a fraction of a segment, for laws whose steps are smaller.

use super::SegmentWindow;

/// The window of a law, of which a [`SegmentWindow`] has whole segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct FractionalWindow {
    /// The window in segments.
    pub(super) segments: f64,
    /// The whole segments that the law set last.
    set: u32,
}

impl FractionalWindow {
    /// The window at the start of a connection.
    pub(super) fn new(window: &SegmentWindow) -> Self {
        Self { segments: f64::from(window.segments), set: window.segments }
    }

    /// Takes over a window that recovery or validation has set since.
    pub(super) fn follow(&mut self, window: &SegmentWindow) {
        if window.segments != self.set {
            self.segments = f64::from(window.segments);
        }
    }

    /// Sets the window to these segments.
    pub(super) const fn set(&mut self, window: &mut SegmentWindow, segments: u32) {
        window.segments = segments;
        self.set = segments;
    }

    /// Sets the window to the whole segments of this one.
    pub(super) const fn set_whole(&mut self, window: &mut SegmentWindow) {
        self.set(window, self.segments as u32);
    }

    /// The whole segments that the law set last.
    pub(super) const fn last_set(&self) -> u32 {
        self.set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fraction_stays_until_another_sets_the_window() {
        let mut window = SegmentWindow::new(1000, 10);
        let mut exact = FractionalWindow::new(&window);
        exact.segments = 12.75;
        exact.set_whole(&mut window);
        assert_eq!((window.segments, exact.last_set()), (12, 12));
        exact.follow(&window);
        assert!((exact.segments - 12.75).abs() < 1e-9);
        window.segments = 6; // recovery
        exact.follow(&window);
        assert!((exact.segments - 6.0).abs() < 1e-9);
    }
}
