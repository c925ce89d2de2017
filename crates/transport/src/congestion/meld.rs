//! MELD: losses of the radio told from those of congestion by what the base station says of the UE (Diarra et al.,
//! "Cross-layer loss discrimination algorithms for MEC in 4G networks", HPSR 2021, Algorithm 1), as its authors ran
//! it (github.com/madi223/MELD, `sender.c` of either variant).
//!
//! - MELD-DE blames congestion if the last transport block is smaller than a packet divided by the HARQ processes:
//!   then the channel is too bad for the packet to pass in one round of HARQ.
//! - MELD-ME does so too if the RLC queue has reached a threshold.
//!
//! Every other loss is random. Without information, or if it is too old or from the future, congestion is
//! blamed, which is what a sender without MELD does.
//!
//! The authors' sender tells its controller nothing of a random loss ([`LossCause::Unreported`], the default); where
//! it does ([`LossCause::Random`]), the loss ends slow start and costs nothing else.

use airlane_core::{Bytes, Duration, Instant};

use super::{LossCause, LossDiscriminator, LossEpisode, RadioInformation};

/// HARQ processes of FDD (TS 36.213 v17.0 §7).
const HARQ_PROCESSES: u64 = 8;
/// The packet that the authors divide: picoquic's largest, 1440 bytes.
const PACKET: u64 = 1440;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeldVariant {
    /// By the transport block alone.
    De,
    /// By the transport block and the RLC queue.
    Me,
}

impl MeldVariant {
    /// Its name in scenarios and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::De => "meld-de",
            Self::Me => "meld-me",
        }
    }
}

/// What the queue is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeldReading {
    /// The code of the authors: a number of bits, 8 times the largest block, to which a queue in bytes is compared.
    AsRun,
    /// Its derivation: what the cell can drain in one round of HARQ, 8 times the largest block in bytes.
    AsDerived,
}

/// The thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeldConfig {
    /// Which of the two.
    pub variant: MeldVariant,
    /// A smaller transport block is blamed on congestion.
    pub block_threshold: Bytes,
    /// A queue of this size is congestion, for [`MeldVariant::Me`].
    pub queue_threshold: Bytes,
    /// How old information may be; `None` for any age, as the authors have it.
    pub age_max: Option<Duration>,
    /// What a loss is that is not congestion's.
    pub otherwise: LossCause,
    /// Whether retransmission timeouts are judged too, as the authors have it; otherwise they are congestion.
    pub judges_timeouts: bool,
}

impl MeldConfig {
    /// The thresholds for a cell whose largest transport block is `block_max` (2292 bytes in the authors' cell of
    /// 25 PRBs).
    #[must_use]
    pub const fn new(variant: MeldVariant, reading: MeldReading, block_max: Bytes) -> Self {
        let queue = match reading {
            MeldReading::AsRun => HARQ_PROCESSES * 8 * block_max.get(),
            MeldReading::AsDerived => HARQ_PROCESSES * block_max.get(),
        };
        Self {
            variant,
            block_threshold: Bytes(PACKET / HARQ_PROCESSES),
            queue_threshold: Bytes(queue),
            age_max: None,
            otherwise: LossCause::Unreported,
            judges_timeouts: true,
        }
    }
}

/// The discriminator.
#[derive(Clone, Copy, Debug)]
pub struct Meld {
    config: MeldConfig,
    newest: Option<RadioInformation>,
}

impl Meld {
    /// A discriminator that knows nothing yet.
    #[must_use]
    pub const fn new(config: MeldConfig) -> Self {
        Self { config, newest: None }
    }

    pub(super) const fn judges_timeouts(&self) -> bool {
        self.config.judges_timeouts
    }

    /// What is known at `now`, if it may be used.
    fn usable(&self, now: Instant) -> Option<RadioInformation> {
        let newest = self.newest.filter(|newest| newest.measured_at <= now)?;
        let fresh = self.config.age_max.is_none_or(|most| now.saturating_since(newest.measured_at) <= most);
        fresh.then_some(newest)
    }
}

impl LossDiscriminator for Meld {
    fn on_radio_information(&mut self, information: &RadioInformation) {
        // What was overtaken on its way says less than what is known.
        if self.newest.is_none_or(|newest| newest.measured_at <= information.measured_at) {
            self.newest = Some(*information);
        }
    }

    fn classify(&mut self, episode: &LossEpisode) -> LossCause {
        let Some(known) = self.usable(episode.now) else { return LossCause::Congestion };
        let bad_channel = known.transport_block < self.config.block_threshold;
        let full = match self.config.variant {
            MeldVariant::De => false,
            MeldVariant::Me => known.queue >= self.config.queue_threshold,
        };
        if bad_channel || full || episode.marked { LossCause::Congestion } else { self.config.otherwise }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK_MAX: Bytes = Bytes(2292);

    fn at(ms: u64) -> LossEpisode {
        let now = Instant::from_millis(ms);
        LossEpisode {
            now,
            in_flight_segments: 20,
            window_segments: 20,
            marked: false,
            lost_segments: 1,
            newest_lost: 100,
        }
    }

    fn said(ms: u64, block: u64, queue: u64) -> RadioInformation {
        RadioInformation {
            measured_at: Instant::from_millis(ms),
            transport_block: Bytes(block),
            queue: Bytes(queue),
        }
    }

    #[test]
    fn thresholds_are_those_of_the_authors_cell() {
        let config = |reading| MeldConfig::new(MeldVariant::Me, reading, BLOCK_MAX);
        assert_eq!(config(MeldReading::AsRun).block_threshold, Bytes(180));
        assert_eq!(config(MeldReading::AsRun).queue_threshold, Bytes(146_688));
        assert_eq!(config(MeldReading::AsDerived).queue_threshold, Bytes(18_336));
    }

    #[test]
    fn the_block_decides_and_for_me_the_queue_too() {
        use LossCause::{Congestion, Unreported};
        // Block, queue, and the verdicts of DE, ME as derived, and ME as run.
        let cases = [
            (179, 0, [Congestion, Congestion, Congestion]),
            (180, 0, [Unreported, Unreported, Unreported]),
            (2292, 18_335, [Unreported, Unreported, Unreported]),
            (2292, 18_336, [Unreported, Congestion, Unreported]),
            (2292, 146_687, [Unreported, Congestion, Unreported]),
            (2292, 146_688, [Unreported, Congestion, Congestion]),
        ];
        let kinds = [
            (MeldVariant::De, MeldReading::AsDerived),
            (MeldVariant::Me, MeldReading::AsDerived),
            (MeldVariant::Me, MeldReading::AsRun),
        ];
        for (block, queue, verdicts) in cases {
            for ((variant, reading), verdict) in kinds.into_iter().zip(verdicts) {
                let mut meld = Meld::new(MeldConfig::new(variant, reading, BLOCK_MAX));
                meld.on_radio_information(&said(5, block, queue));
                assert_eq!(meld.classify(&at(9)), verdict, "{block} {queue} {variant:?} {reading:?}");
                assert_eq!(meld.classify(&LossEpisode { marked: true, ..at(9) }), Congestion);
            }
        }
    }

    #[test]
    fn without_information_in_time_every_loss_is_congestion() {
        let config = MeldConfig::new(MeldVariant::De, MeldReading::AsRun, BLOCK_MAX);
        let mut meld = Meld::new(MeldConfig { age_max: Some(Duration::from_millis(100)), ..config });
        assert_eq!(meld.classify(&at(1)), LossCause::Congestion);
        meld.on_radio_information(&said(50, 2292, 0));
        assert_eq!(meld.classify(&at(150)), LossCause::Unreported);
        assert_eq!(meld.classify(&at(151)), LossCause::Congestion);
        // Late information does not replace newer.
        meld.on_radio_information(&said(40, 0, 0));
        assert_eq!(meld.classify(&at(150)), LossCause::Unreported);
        // A clock that runs ahead is not believed until its time has come.
        meld.on_radio_information(&said(1_000, 2292, 0));
        assert_eq!(meld.classify(&at(160)), LossCause::Congestion);
        // As run, age is not looked at.
        let mut meld = Meld::new(config);
        meld.on_radio_information(&said(50, 2292, 0));
        assert_eq!(meld.classify(&at(100_000)), LossCause::Unreported);
    }
}
