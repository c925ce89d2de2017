//! Finds guests that send without end.

/// The time over which frames are counted, in nanoseconds.
const WINDOW_NS: u64 = 100_000_000;
/// More frames in that time are a fault: a link of 10 Gbit/s carries 81,274 of the largest Ethernet frames in it (IEEE
/// Std 802.3-2018 clause 3: 1518 bytes, a preamble of 8 and a gap of 12).
pub const FRAMES_MAX: u32 = 100_000;

/// Counts the frames of a guest. A program that sends without end takes almost no virtual time, so that its turn would
/// not end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flood {
    since: u64,
    frames: u32,
}

impl Flood {
    /// A frame of the guest at this time, in nanoseconds. True if there are too many.
    pub const fn count(&mut self, at: u64) -> bool {
        if at.saturating_sub(self.since) >= WINDOW_NS {
            *self = Self { since: at, frames: 0 };
        }
        self.frames += 1;
        self.frames > FRAMES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_frames_in_a_short_time_are_a_flood() {
        let mut flood = Flood::default();
        assert!((0..FRAMES_MAX).all(|_| !flood.count(5_000_000)));
        assert!(flood.count(5_000_001));
        assert!(!flood.count(105_000_000));
    }
}
