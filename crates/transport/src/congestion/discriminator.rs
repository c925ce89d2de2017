//! Classification of losses: congestion, which reduces the window, or random loss, which does not.
//!
//! A discriminator can be combined with any controller. The closed set is [`Discriminator`]; the
//! default classifies every loss as congestion (RFC 5681) and has no state.

use airlane_core::LossVerdict;

use super::meld::{Meld, MeldConfig};
use super::peers::{KneeTest, UsageTest};
use super::vegas::micros;
use super::veno::{BETA_HALVES, SAMPLES_NEEDED, waiting_halves};
use super::{Arrival, LossEpisode, Needs, RadioInformation};

/// The cause of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// A queue was full.
    Congestion,
    /// Random loss on the path, independent of the sender: the window is kept.
    Random,
    /// The cause is irrelevant: the loss is not reported to the controller, so that slow start
    /// continues.
    Unreported,
}

impl LossCause {
    /// The cause for observers.
    #[must_use]
    pub const fn verdict(self) -> LossVerdict {
        match self {
            Self::Congestion => LossVerdict::Congestion,
            Self::Random => LossVerdict::Random,
            Self::Unreported => LossVerdict::Unreported,
        }
    }
}

/// How a sender distinguishes the causes of loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossDiscrimination {
    /// Every loss is congestion (RFC 5681).
    #[default]
    None,
    /// No loss is congestion: what a rule is worth is its difference from this and from `None`.
    Ignore,
    /// By the queue estimated from the round trip (Fu and Liew 2003).
    Veno,
    /// By the round trip at the knee of the path (Samaraweera 1999).
    Ncpld,
    /// By the queue relative to its maximum, both estimated from the round trip (Park et al. 2010), in
    /// thousandths: a loss is congestion if the queue is above this value.
    LdaEq(u32),
    /// By the base station's information about the UE.
    Meld(MeldConfig),
}

impl LossDiscrimination {
    /// The name of the rule in scenarios and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "legacy",
            Self::Ignore => "ignore",
            Self::Veno => "veno",
            Self::Ncpld => "ncpld",
            Self::LdaEq(_) => "lda-eq",
            Self::Meld(meld) => meld.variant.name(),
        }
    }

    /// The inputs of the rule in addition to losses.
    #[must_use]
    pub fn needs(self) -> Needs {
        Discriminator::new(self).needs()
    }
}

/// Classifies losses.
pub trait LossDiscriminator {
    /// The inputs of the discriminator, which never change. A path model is not among them.
    fn needs(&self) -> Needs;
    /// An acknowledgment arrived; called before [`Self::classify`] for the losses that it shows, if
    /// [`Needs::arrivals`].
    fn on_arrival(&mut self, _: &Arrival) {}
    /// The base station reported on the UE; called if [`Needs::radio_information`].
    fn on_radio_information(&mut self, _: &RadioInformation) {}
    /// The cause of a loss episode.
    fn classify(&mut self, episode: &LossEpisode) -> LossCause;
}

/// Every loss is congestion (RFC 5681 §3.1).
#[derive(Clone, Copy, Debug)]
pub struct AlwaysCongestion;

impl LossDiscriminator for AlwaysCongestion {
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    #[inline]
    fn classify(&mut self, _: &LossEpisode) -> LossCause {
        LossCause::Congestion
    }
}

/// Only congestion marks are congestion. A sender that ignores losses takes all of a path that it shares.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnlyMarks;

impl LossDiscriminator for OnlyMarks {
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    fn classify(&mut self, episode: &LossEpisode) -> LossCause {
        if episode.marked { LossCause::Congestion } else { LossCause::Unreported }
    }
}

/// Veno's test with any controller: a loss is random if fewer than three segments are in the queue,
/// N = window (rtt - base) / rtt < 3 (Fu and Liew 2003 §III-A). The round trip is that of the newest
/// acknowledgment with a sample.
///
/// A loss together with an ECN mark is always congestion.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueTest {
    /// Minimum round trip, and the newest one, in microseconds.
    base: u64,
    newest: u64,
    samples: u32,
}

impl LossDiscriminator for QueueTest {
    fn needs(&self) -> Needs {
        Needs::ARRIVALS
    }

    fn on_arrival(&mut self, arrival: &Arrival) {
        if let Some(rtt) = arrival.rtt {
            self.newest = micros(rtt);
            self.base = if self.samples == 0 { self.newest } else { self.base.min(self.newest) };
            self.samples = self.samples.saturating_add(1);
        }
    }

    fn classify(&mut self, episode: &LossEpisode) -> LossCause {
        if episode.marked {
            return LossCause::Congestion;
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

/// The discriminators of this crate.
#[derive(Clone, Copy, Debug)]
pub(super) enum Discriminator {
    AlwaysCongestion(AlwaysCongestion),
    OnlyMarks(OnlyMarks),
    QueueTest(QueueTest),
    KneeTest(KneeTest),
    UsageTest(UsageTest),
    Meld(Meld),
}

macro_rules! each {
    ($self:expr, $d:ident => $call:expr) => {
        match $self {
            Discriminator::AlwaysCongestion($d) => $call,
            Discriminator::OnlyMarks($d) => $call,
            Discriminator::QueueTest($d) => $call,
            Discriminator::KneeTest($d) => $call,
            Discriminator::UsageTest($d) => $call,
            Discriminator::Meld($d) => $call,
        }
    };
}

impl Discriminator {
    pub(super) fn new(kind: LossDiscrimination) -> Self {
        match kind {
            LossDiscrimination::None => Self::AlwaysCongestion(AlwaysCongestion),
            LossDiscrimination::Ignore => Self::OnlyMarks(OnlyMarks),
            LossDiscrimination::Veno => Self::QueueTest(QueueTest::default()),
            LossDiscrimination::Ncpld => Self::KneeTest(KneeTest::default()),
            LossDiscrimination::LdaEq(threshold) => Self::UsageTest(UsageTest::new(threshold)),
            LossDiscrimination::Meld(config) => Self::Meld(Meld::new(config)),
        }
    }

    /// MELD's authors call it before both of picoquic's notifications, `repeat` and `timeout`.
    pub(super) const fn judges_timeouts(&self) -> bool {
        match self {
            Self::Meld(meld) => meld.judges_timeouts(),
            Self::OnlyMarks(_) => true,
            _ => false,
        }
    }
}

impl LossDiscriminator for Discriminator {
    fn needs(&self) -> Needs {
        each!(self, d => d.needs())
    }

    fn on_arrival(&mut self, arrival: &Arrival) {
        each!(self, d => d.on_arrival(arrival));
    }

    fn on_radio_information(&mut self, information: &RadioInformation) {
        each!(self, d => d.on_radio_information(information));
    }

    fn classify(&mut self, episode: &LossEpisode) -> LossCause {
        each!(self, d => d.classify(episode))
    }
}
