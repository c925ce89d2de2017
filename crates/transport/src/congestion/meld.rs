//! MELD: distinguishes losses on the radio from congestion by the base station's information about the UE
//! (Diarra et al., "Cross-layer loss discrimination algorithms for MEC in 4G networks", HPSR 2021, Algorithm
//! 1).
//!
//! - MELD-DE: a loss is congestion if the last transport block is smaller than `S_TB`, a packet divided by
//!   the HARQ processes: then the packet cannot be sent in one round of HARQ (Inequality 1).
//! - MELD-ME: also if the RLC queue has reached a threshold, `Q_th`.
//!
//! Every other loss is random. Without information, or if it is too old or from the future, a loss is
//! congestion, as at a sender without MELD.
//!
//! `Q_th` is a constant in the code of the authors (github.com/madi223/MELD at e0f1b9e, `sender.c`).
//! Algorithm 1, line 4, computes it from the UE's resource blocks, its CQI and its transport block; the
//! formula, Inequality 2, is missing from our copy of the paper. [`QueueThreshold::Present`] uses the formula
//! of the constant, a transport block for each HARQ process, with the block size that these three currently
//! allow.
//!
//! The authors' sender does not report a random loss to its controller ([`LossCause::Unreported`], the
//! default). If it is reported ([`LossCause::Random`]), the loss ends slow start and has no other effect.

use airlane_core::{Bytes, Duration, Instant};

use super::{LossCause, LossDiscriminator, LossEpisode, Needs, RadioInformation};

/// The variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeldVariant {
    /// By the transport block only.
    De,
    /// By the transport block and the RLC queue.
    Me,
}

impl MeldVariant {
    /// The name of the variant in scenarios and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::De => "meld-de",
            Self::Me => "meld-me",
        }
    }
}

/// Rows of [`BlockSizes`]: a CQI has four bits.
const CQIS: usize = 16;
/// Columns of the table: no carrier has more than 110 physical resource blocks (TS 36.213 v8.8.0 Table 7.1.7.2.1-1).
const RESOURCE_BLOCKS: usize = 111;

/// Bytes of the transport block that a base station sends at each CQI on each number of physical resource blocks. The
/// mapping from CQI to MCS is the vendor's choice, so the sizes are a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BlockSizes {
    /// A row for each CQI from 0, a column for each number of resource blocks from 0: LTE, whose sizes are a table.
    Table(&'static [[u16; RESOURCE_BLOCKS]; CQIS]),
    /// In proportion to the resource blocks: NR, whose sizes are computed from the resource elements (TS 38.214 v17.0
    /// §5.1.3.2). The rounding of a block's size, below 3 % from 1 kB on, is left out.
    Proportional {
        /// Number of resource blocks of the carrier.
        carrier: u16,
        /// Bytes of a block on the whole carrier, for each CQI from 0.
        whole: [u32; CQIS],
    },
}

impl BlockSizes {
    /// The block; `None` if the CQI or the number of resource blocks is out of range, or the block is
    /// empty.
    fn of(&self, cqi: u8, resource_blocks: u16) -> Option<Bytes> {
        let bytes = match self {
            Self::Table(table) => u64::from(*table.get(usize::from(cqi))?.get(usize::from(resource_blocks))?),
            Self::Proportional { carrier, whole } => {
                if resource_blocks > *carrier {
                    return None;
                }
                u64::from(*whole.get(usize::from(cqi))?) * u64::from(resource_blocks) / u64::from(*carrier)
            }
        };
        (bytes > 0).then_some(Bytes(bytes))
    }
}

impl core::fmt::Debug for BlockSizes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("BlockSizes(..)")
    }
}

/// The threshold of the queue: `Q_th`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueThreshold {
    /// A constant.
    Constant(Bytes),
    /// A block for each HARQ process. Its size is that for the UE's resource blocks and CQI in the newest
    /// information, but at most the last block of the UE.
    Present(BlockSizes),
}

/// Parameters of MELD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeldConfig {
    /// The variant.
    pub variant: MeldVariant,
    /// `T_PDU`: the size of the packet that must be sent in one round of HARQ.
    pub pdu: Bytes,
    /// `N_HARQ`: the number of HARQ processes, and so of transport blocks in a round.
    pub harq_processes: u8,
    /// The queue size from which a loss is congestion, for [`MeldVariant::Me`].
    pub queue_threshold: QueueThreshold,
    /// Maximum age of the information; `None` for any age, as in the authors' code.
    pub age_max: Option<Duration>,
    /// The class of a loss that is not congestion.
    pub otherwise: LossCause,
    /// Whether retransmission timeouts are classified too, as in the authors' code; otherwise they are
    /// congestion.
    pub judges_timeouts: bool,
}

impl MeldConfig {
    /// As the authors ran it in a cell whose largest transport block is `block_max`: picoquic's largest
    /// packet, the HARQ processes of FDD (TS 36.213 v17.0 §7), and a queue in bytes that is compared with a
    /// number of bits.
    #[must_use]
    pub const fn as_run(variant: MeldVariant, block_max: Bytes) -> Self {
        let harq_processes = 8;
        Self {
            variant,
            pdu: Bytes(1440),
            harq_processes,
            queue_threshold: QueueThreshold::as_run(harq_processes, block_max),
            age_max: None,
            otherwise: LossCause::Unreported,
            judges_timeouts: true,
        }
    }

    /// Whether the block is smaller than [`Self::pdu`] divided by [`Self::harq_processes`]: Inequality 1 is
    /// not fulfilled.
    const fn is_small(&self, block: Bytes) -> bool {
        block.get().saturating_mul(self.harq_processes as u64) < self.pdu.get()
    }

    /// `Q_th` for this information.
    fn queue_threshold(&self, known: &RadioInformation) -> Bytes {
        match self.queue_threshold {
            QueueThreshold::Constant(bytes) => bytes,
            QueueThreshold::Present(blocks) => {
                let allowed = blocks.of(known.cqi, known.resource_blocks);
                let block = allowed.map_or(known.transport_block, |most| most.min(known.transport_block));
                Bytes(block.get().saturating_mul(u64::from(self.harq_processes)))
            }
        }
    }
}

impl QueueThreshold {
    /// The number in the authors' code: the bits of a largest block for each HARQ process. The code compares
    /// it with bytes.
    #[must_use]
    pub const fn as_run(harq_processes: u8, block_max: Bytes) -> Self {
        Self::Constant(Bytes(harq_processes as u64 * 8 * block_max.get()))
    }

    /// The intended number: the bytes of a largest block for each HARQ process.
    #[must_use]
    pub const fn derived(harq_processes: u8, block_max: Bytes) -> Self {
        Self::Constant(Bytes(harq_processes as u64 * block_max.get()))
    }
}

/// The discriminator.
#[derive(Clone, Copy, Debug)]
pub struct Meld {
    config: MeldConfig,
    newest: Option<RadioInformation>,
}

impl Meld {
    /// A discriminator without information.
    #[must_use]
    pub const fn new(config: MeldConfig) -> Self {
        Self { config, newest: None }
    }

    pub(super) const fn judges_timeouts(&self) -> bool {
        self.config.judges_timeouts
    }

    /// The information at `now`, if it may be used. In real time it comes from another thread, and may be newer than
    /// the time at which the work on a packet began.
    fn usable(&self, now: Instant) -> Option<RadioInformation> {
        let newest = self.newest?;
        let fresh = self.config.age_max.is_none_or(|most| now.saturating_since(newest.measured_at) <= most);
        fresh.then_some(newest)
    }
}

impl LossDiscriminator for Meld {
    fn needs(&self) -> Needs {
        Needs::RADIO_INFORMATION
    }

    fn on_radio_information(&mut self, information: &RadioInformation) {
        // Information that was overtaken is older than the current one.
        if self.newest.is_none_or(|newest| newest.measured_at <= information.measured_at) {
            self.newest = Some(*information);
        }
    }

    fn classify(&mut self, episode: &LossEpisode) -> LossCause {
        let Some(known) = self.usable(episode.now) else { return LossCause::Congestion };
        let bad_channel = self.config.is_small(known.transport_block);
        let full = match self.config.variant {
            MeldVariant::De => false,
            MeldVariant::Me => known.queue >= self.config.queue_threshold(&known),
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
            resource_blocks: 25,
            cqi: 15,
            queue: Bytes(queue),
            cell_use: None,
        }
    }

    /// Of OpenAirInterface's eNB (TS 36.213 Table 7.1.7.2.1-1): MCS 28, 20 and 4 at CQI 15, 11 and 4.
    static BLOCKS: [[u16; RESOURCE_BLOCKS]; CQIS] = {
        let mut blocks = [[0; RESOURCE_BLOCKS]; CQIS];
        blocks[15][25] = 2292;
        blocks[15][10] = 903;
        blocks[11][25] = 1239;
        blocks[4][25] = 225;
        blocks
    };

    /// A carrier of NR of 100 resource blocks with blocks of 10,000 bytes at CQI 15: 25 of them carry 2500 bytes, and eight
    /// processes 20,000. No carrier has 101.
    #[test]
    fn blocks_of_nr_are_in_proportion_to_the_resource_blocks() {
        let mut whole = [0; CQIS];
        whole[15] = 10_000;
        let sizes = BlockSizes::Proportional { carrier: 100, whole };
        assert_eq!(sizes.of(15, 25), Some(Bytes(2_500)));
        assert_eq!((sizes.of(15, 101), sizes.of(14, 25), sizes.of(16, 25)), (None, None, None));
        let config = with_threshold(QueueThreshold::Present(sizes));
        assert_eq!(config.queue_threshold(&said(0, 5_000, 0)), Bytes(20_000));
        assert_eq!(config.queue_threshold(&said(0, 1_000, 0)), Bytes(8_000)); // at most the last block
    }

    fn with_threshold(queue_threshold: QueueThreshold) -> MeldConfig {
        MeldConfig { queue_threshold, ..MeldConfig::as_run(MeldVariant::Me, BLOCK_MAX) }
    }

    #[test]
    fn thresholds_are_those_of_the_authors_cell() {
        use QueueThreshold as Q;
        assert_eq!(
            MeldConfig::as_run(MeldVariant::Me, BLOCK_MAX).queue_threshold,
            Q::Constant(Bytes(146_688))
        );
        assert_eq!(Q::derived(8, BLOCK_MAX), Q::Constant(Bytes(18_336)));
        assert_eq!(Q::derived(16, BLOCK_MAX), Q::Constant(Bytes(36_672)));
    }

    /// `Q_th` is eight blocks of the size that PRBs, CQI and block allow together; the authors' derived
    /// constant at 25 PRBs and CQI 15. Each row: CQI, PRBs, block, and the threshold.
    #[test]
    fn the_present_threshold_follows_resource_blocks_cqi_and_block() {
        let rows = [
            (15, 25, 2292, 18_336),
            (15, 10, 903, 7_224),
            // The channel has become worse since the block was made, or better.
            (11, 25, 2292, 9_912),
            (15, 25, 1239, 9_912),
            (4, 25, 2292, 1_800),
            // No information about the channel, or impossible values: the block alone.
            (0, 25, 500, 4_000),
            (15, 0, 500, 4_000),
            (255, 25, 500, 4_000),
            (15, 65_535, 500, 4_000),
        ];
        for (cqi, resource_blocks, block, threshold) in rows {
            for (queue, cause) in [(threshold - 1, LossCause::Unreported), (threshold, LossCause::Congestion)]
            {
                let mut meld = Meld::new(with_threshold(QueueThreshold::Present(BlockSizes::Table(&BLOCKS))));
                meld.on_radio_information(&RadioInformation {
                    cqi,
                    resource_blocks,
                    ..said(5, block, queue)
                });
                assert_eq!(meld.classify(&at(9)), cause, "{cqi} {resource_blocks} {block} {queue}");
            }
        }
    }

    /// `S_TB = T_PDU / N_HARQ`: 1440 / 8 = 180 bytes, 1500 / 7 = 214.29 and 1500 / 16 = 93.75.
    #[test]
    fn a_small_block_is_one_that_a_round_of_harq_cannot_fill_a_packet_with() {
        for (pdu, harq_processes, small, enough) in
            [(1440, 8, 179, 180), (1500, 7, 214, 215), (1500, 16, 93, 94)]
        {
            for (block, cause) in [(small, LossCause::Congestion), (enough, LossCause::Unreported)] {
                let mut meld = Meld::new(MeldConfig {
                    pdu: Bytes(pdu),
                    harq_processes,
                    ..MeldConfig::as_run(MeldVariant::De, BLOCK_MAX)
                });
                meld.on_radio_information(&said(5, block, 0));
                assert_eq!(meld.classify(&at(9)), cause, "{pdu} {harq_processes} {block}");
            }
        }
    }

    /// Values that are impossible in a cell: the result is still one of the two classes, and a queue of
    /// any size is compared.
    #[test]
    fn nonsense_is_compared_and_breaks_nothing() {
        for (block, queue, cause) in [
            (u64::MAX, 0, LossCause::Unreported),
            (u64::MAX, u64::MAX, LossCause::Congestion),
            (0, u64::MAX, LossCause::Congestion),
            (0, 0, LossCause::Congestion),
        ] {
            let mut meld = Meld::new(with_threshold(QueueThreshold::Present(BlockSizes::Table(&BLOCKS))));
            meld.on_radio_information(&RadioInformation { cqi: 0, ..said(5, block, queue) });
            assert_eq!(meld.classify(&at(9)), cause, "{block} {queue}");
        }
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
        let derived = with_threshold(QueueThreshold::derived(8, BLOCK_MAX));
        let as_run = MeldConfig::as_run(MeldVariant::Me, BLOCK_MAX);
        let kinds = [MeldConfig { variant: MeldVariant::De, ..derived }, derived, as_run];
        for (block, queue, verdicts) in cases {
            for (config, verdict) in kinds.into_iter().zip(verdicts) {
                let mut meld = Meld::new(config);
                meld.on_radio_information(&said(5, block, queue));
                assert_eq!(meld.classify(&at(9)), verdict, "{block} {queue} {config:?}");
                assert_eq!(meld.classify(&LossEpisode { marked: true, ..at(9) }), Congestion);
            }
        }
    }

    #[test]
    fn without_information_in_time_every_loss_is_congestion() {
        let config = MeldConfig::as_run(MeldVariant::De, BLOCK_MAX);
        let mut meld = Meld::new(MeldConfig { age_max: Some(Duration::from_millis(100)), ..config });
        assert_eq!(meld.classify(&at(1)), LossCause::Congestion);
        meld.on_radio_information(&said(50, 2292, 0));
        assert_eq!(meld.classify(&at(150)), LossCause::Unreported);
        assert_eq!(meld.classify(&at(151)), LossCause::Congestion);
        // Late information does not replace newer information.
        meld.on_radio_information(&said(40, 0, 0));
        assert_eq!(meld.classify(&at(150)), LossCause::Unreported);
        // Information that came while the packet was worked on. Times that are wrong are refused on arrival.
        meld.on_radio_information(&said(161, 2292, 0));
        assert_eq!(meld.classify(&at(160)), LossCause::Unreported);
        // As run, age is ignored.
        let mut meld = Meld::new(config);
        meld.on_radio_information(&said(50, 2292, 0));
        assert_eq!(meld.classify(&at(100_000)), LossCause::Unreported);
    }
}
