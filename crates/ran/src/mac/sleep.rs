//! How long a UE listened, slept and sent, by the depth of its sleep.
//!
//! A gap has the deepest sleep that is shorter than it with its transitions (TR 38.840 v16.0.0 §8.1, as [`crate::energy`] has it): those to and from
//! deep sleep take 20 ms in all, to and from light sleep 6 ms, and to and from micro sleep no time.

use airlane_core::{Bytes, Dbm, Duration};

/// The state of a UE's connection while it listens or sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It is connected.
    Connected,
    /// Its connection is being set up.
    Connecting,
    /// It is idle or inactive, and is paged.
    Released,
}

impl Phase {
    /// Number of phases.
    pub const COUNT: usize = 3;
}

/// The blocks that a UE has received and sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RadioUse {
    /// Time of slots with a block for it.
    pub receiving: Duration,
    /// Time of slots with a block from it, and the sum of their times multiplied by the power of each in dBm, between
    /// [`RadioUse::LEAST_DBM`] and [`RadioUse::MOST_DBM`], in thousandths.
    pub sending: Duration,
    /// See `sending`.
    pub sending_mdbm: u128,
    /// Bytes of the blocks in the downlink, repetitions included.
    pub received: Bytes,
    /// Bytes of the blocks in the uplink, repetitions included.
    pub sent: Bytes,
    /// Of `receiving` and `sending`, the times on the default bandwidth part.
    pub on_default: [Duration; 2],
}

impl RadioUse {
    /// Powers between which TR 38.840 gives the consumption.
    pub const LEAST_DBM: f64 = 0.0;
    /// See [`RadioUse::LEAST_DBM`].
    pub const MOST_DBM: f64 = 23.0;

    /// A slot with a block for the UE.
    pub(crate) fn receive(&mut self, slot: Duration, bytes: Bytes) {
        self.receiving += slot;
        self.received += bytes;
    }

    /// A slot with a block from the UE.
    pub(crate) fn send(&mut self, slot: Duration, bytes: Bytes, power: Dbm) {
        self.sending += slot;
        self.sent += bytes;
        let mdbm = power.0.clamp(Self::LEAST_DBM, Self::MOST_DBM) * 1e3;
        self.sending_mdbm += u128::from(slot.as_nanos()) * mdbm as u128;
    }
}

/// The depth of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Parts of the receiver are off.
    Micro,
    /// Lower power.
    Light,
    /// Lowest power.
    Deep,
}

/// Going to and waking up from deep and light sleep (TR 38.840 v16.0.0 §8.1).
const DEEP: Duration = Duration::from_millis(20);
const LIGHT: Duration = Duration::from_millis(6);

impl Depth {
    /// The deepest sleep for a gap.
    #[must_use]
    pub fn of(gap: Duration) -> Self {
        if gap > DEEP {
            Self::Deep
        } else if gap > LIGHT {
            Self::Light
        } else {
            Self::Micro
        }
    }
}

/// Sleeps of one depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sleeps {
    /// Their time.
    pub time: Duration,
    /// Their number.
    pub count: u64,
}

/// How long a UE listened and slept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SleepTally {
    /// Active Time.
    pub active: Duration,
    /// The part of it on the default bandwidth part; none without one.
    pub on_default: Duration,
    /// Sleep, by depth in the order of [`Depth`].
    pub sleeps: [Sleeps; 3],
}

impl SleepTally {
    /// Some sleeps of one length.
    pub(crate) fn sleep(&mut self, length: Duration, count: u64) {
        if length.is_zero() || count == 0 {
            return;
        }
        let sleeps = &mut self.sleeps[Depth::of(length) as usize];
        sleeps.time += length * count;
        sleeps.count += count;
    }

    /// All time.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.sleeps.iter().fold(self.active, |sum, sleeps| sum + sleeps.time)
    }
}
