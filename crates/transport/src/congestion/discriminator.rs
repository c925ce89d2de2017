//! What a loss is taken for: congestion, which costs the window, or chance, which does not.
//!
//! A discriminator stands beside any controller. The closed set is [`Discriminator`]; the one that
//! blames congestion for every loss (RFC 5681) is the default and keeps no state.

use airlane_core::Instant;

use super::meld::{Meld, MeldConfig};
use super::vegas::micros;
use super::veno::{BETA_HALVES, SAMPLES_NEEDED, waiting_halves};
use super::{Arrival, LossEpisode, PathFeedback, RadioInformation};

/// Why segments were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// A queue had no room.
    Congestion,
    /// The path loses by itself, whatever is sent: the window stays.
    Random,
    /// It does not matter why: the controller hears nothing of it, so that slow start goes on.
    Unreported,
}

/// How a sender tells the causes of loss apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossDiscrimination {
    /// Every loss is one of congestion (RFC 5681).
    #[default]
    None,
    /// By the queue that the round trip shows (Fu and Liew 2003).
    Veno,
    /// By what the base station says of the UE.
    Meld(MeldConfig),
}

/// Tells why segments were lost.
pub trait LossDiscriminator {
    /// An acknowledgment arrived; comes before [`Self::classify`] of what it shows to be lost.
    fn on_arrival(&mut self, _: &Arrival) {}
    /// The path said something of itself.
    fn on_feedback(&mut self, _: &PathFeedback) {}
    /// The base station said something of the UE.
    fn on_radio_information(&mut self, _: &RadioInformation) {}
    /// The cause of an episode of loss.
    fn classify(&mut self, episode: &LossEpisode) -> LossCause;
}

/// Every loss is one of congestion (RFC 5681 §3.1).
#[derive(Clone, Copy, Debug)]
pub struct AlwaysCongestion;

impl LossDiscriminator for AlwaysCongestion {
    #[inline]
    fn classify(&mut self, _: &LossEpisode) -> LossCause {
        LossCause::Congestion
    }
}

/// Veno's test with any controller: the loss is random if fewer than three segments wait in the
/// queue, N = window (rtt - base) / rtt < 3 (Fu and Liew 2003 §III-A). The round trip is that of the
/// newest acknowledgment which gave one.
///
/// A loss that comes with a mark of congestion is congestion's whatever the queue, and what the path
/// says of its losses outranks the estimate.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueTest {
    /// Smallest round trip, and the newest, in microseconds.
    base: u64,
    newest: u64,
    samples: u32,
    told: Option<(LossCause, Instant)>,
}

impl LossDiscriminator for QueueTest {
    fn on_arrival(&mut self, arrival: &Arrival) {
        if let Some(rtt) = arrival.rtt {
            self.newest = micros(rtt);
            self.base = if self.samples == 0 { self.newest } else { self.base.min(self.newest) };
            self.samples = self.samples.saturating_add(1);
        }
    }

    fn on_feedback(&mut self, feedback: &PathFeedback) {
        self.told = Some((feedback.losses, feedback.until));
    }

    fn classify(&mut self, episode: &LossEpisode) -> LossCause {
        if episode.marked {
            return LossCause::Congestion;
        }
        if let Some((cause, until)) = self.told
            && episode.now <= until
        {
            return cause;
        }
        if self.samples < SAMPLES_NEEDED {
            return LossCause::Congestion;
        }
        if waiting_halves(episode.window_segments, self.base, self.newest) < BETA_HALVES {
            LossCause::Random
        } else {
            LossCause::Congestion
        }
    }
}

/// The discriminators we ship.
#[derive(Clone, Copy, Debug)]
pub(super) enum Discriminator {
    AlwaysCongestion(AlwaysCongestion),
    QueueTest(QueueTest),
    Meld(Meld),
}

impl Discriminator {
    pub(super) fn new(kind: LossDiscrimination) -> Self {
        match kind {
            LossDiscrimination::None => Self::AlwaysCongestion(AlwaysCongestion),
            LossDiscrimination::Veno => Self::QueueTest(QueueTest::default()),
            LossDiscrimination::Meld(config) => Self::Meld(Meld::new(config)),
        }
    }

    pub(super) const fn hears_arrivals(&self) -> bool {
        matches!(self, Self::QueueTest(_))
    }

    /// MELD's authors ask it before either of picoquic's notifications, `repeat` and `timeout`.
    pub(super) const fn judges_timeouts(&self) -> bool {
        matches!(self, Self::Meld(_))
    }
}

impl LossDiscriminator for Discriminator {
    fn on_arrival(&mut self, arrival: &Arrival) {
        match self {
            Self::AlwaysCongestion(d) => d.on_arrival(arrival),
            Self::QueueTest(d) => d.on_arrival(arrival),
            Self::Meld(d) => d.on_arrival(arrival),
        }
    }

    fn on_feedback(&mut self, feedback: &PathFeedback) {
        match self {
            Self::AlwaysCongestion(d) => d.on_feedback(feedback),
            Self::QueueTest(d) => d.on_feedback(feedback),
            Self::Meld(d) => d.on_feedback(feedback),
        }
    }

    fn on_radio_information(&mut self, information: &RadioInformation) {
        match self {
            Self::AlwaysCongestion(d) => d.on_radio_information(information),
            Self::QueueTest(d) => d.on_radio_information(information),
            Self::Meld(d) => d.on_radio_information(information),
        }
    }

    fn classify(&mut self, episode: &LossEpisode) -> LossCause {
        match self {
            Self::AlwaysCongestion(d) => d.classify(episode),
            Self::QueueTest(d) => d.classify(episode),
            Self::Meld(d) => d.classify(episode),
        }
    }
}
