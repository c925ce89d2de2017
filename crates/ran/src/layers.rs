//! Spatial multiplexing of one code word on up to four layers, as in NR (TS 38.211 §7.3.1.3): the number of layers, and
//! the SINR that they have together ([`airlane_radio::layers`]).

use airlane_radio::layers::{LayerGain, LayerTable};

use crate::config::RankRule;

/// The layers of a cell in one direction.
#[derive(Clone, Copy, Debug)]
pub struct Layers {
    /// Their effect on the SINR.
    pub table: LayerTable,
    /// Maximum number of them.
    pub most: u8,
}

impl Layers {
    /// The number of layers for a mean SNR of one pair of antennas, and for the gains of PRBs; without gains, in a
    /// channel without fading.
    pub(crate) fn rank(&self, rule: RankRule, mean: f32, gains: Option<&[f32]>) -> u8 {
        match rule {
            RankRule::Full => self.most,
            RankRule::Adaptive if self.most == 1 => 1,
            RankRule::Adaptive => self.table.rank(mean, gains.unwrap_or(&[]), self.most),
        }
    }

    /// The effect of this many layers on the SINR.
    pub(crate) fn gain(&self, rank: u8, mean: f32) -> LayerGain {
        self.table.gain(rank.max(1), mean)
    }
}

/// The effect of layers on the SINR in a cell that may have none.
pub(crate) fn gain_of(layers: Option<&Layers>, rank: u8, mean: f32) -> LayerGain {
    layers.map_or(LayerGain::ONE, |layers| layers.gain(rank, mean))
}
