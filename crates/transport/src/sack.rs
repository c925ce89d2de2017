//! SACK blocks at the sender (RFC 2018 §5, RFC 2883 §4): the new information in an ACK.

use airlane_core::{Instant, SackBlock};

use crate::sequence;

/// A block in stream positions, `[left, right)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) left: u64,
    pub(crate) right: u64,
}

/// The blocks of one ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Blocks {
    blocks: [Block; 4],
    len: u8,
}

impl Blocks {
    pub(crate) fn push(&mut self, block: Block) {
        if usize::from(self.len) < self.blocks.len() {
            self.blocks[usize::from(self.len)] = block;
            self.len += 1;
        }
    }
    pub(crate) fn as_slice(&self) -> &[Block] {
        &self.blocks[..usize::from(self.len)]
    }
    /// The blocks of an option, except those whose end is before their beginning; `near` is a position close
    /// to them.
    pub(crate) fn from_wire(option: &[SackBlock], initial: u32, near: u64) -> Self {
        let mut blocks = Self::default();
        for b in option {
            let [left, right] = [b.left, b.right].map(|wire| sequence::position(wire, initial, near));
            if left < right {
                blocks.push(Block { left, right });
            }
        }
        blocks
    }
    /// RFC 2883 §4: the first block is a D-SACK if it is below the ACK or inside the second.
    pub(crate) fn split_dsack(&self, ack: u64) -> (Option<Block>, &[Block]) {
        match self.as_slice() {
            [] => (None, &[]),
            [first, rest @ ..] if first.left < ack => (Some(*first), rest),
            [first, second, ..] if first.left >= second.left && first.right <= second.right => {
                (Some(*first), &self.as_slice()[1..])
            }
            all => (None, all),
        }
    }
}

/// Stores the blocks of the previous ACK, so that only new ranges are processed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SackCache {
    known: Blocks,
}

impl SackCache {
    pub(crate) fn forget(&mut self) {
        self.known = Blocks::default();
    }

    /// The ranges that the blocks cover and the previous ones did not, in ascending order (so that
    /// ranges that arrive together do not look like reordering).
    pub(crate) fn new_ranges(&mut self, blocks: &[Block], una: u64, nxt: u64) -> Blocks {
        let mut seen = Blocks::default();
        let mut fresh = Blocks::default();
        for block in blocks {
            if block.left >= block.right || block.right > nxt || block.right <= una {
                continue; // malformed, or already known
            }
            seen.push(*block);
            let mut left = block.left.max(una);
            for known in self.known.as_slice() {
                if known.left <= left && left < known.right {
                    left = known.right;
                }
            }
            if left < block.right {
                fresh.push(Block { left, right: block.right });
            }
        }
        self.known = seen;
        fresh.blocks[..usize::from(fresh.len)].sort_unstable_by_key(|b| b.left);
        fresh
    }
}

/// The results of processing the SACKs of one ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SackOutcome {
    /// Segments newly SACKed.
    pub(crate) sacked: u32,
    /// Payload of the segments.
    pub(crate) bytes: u32,
    /// True if it contained a D-SACK.
    pub(crate) dsack: bool,
    /// Send times of the first and last of those that had been sent once.
    pub(crate) first_sent_at: Option<Instant>,
    pub(crate) last_sent_at: Option<Instant>,
    /// A segment from before the recovery point, sent once, was SACKed: F-RTO's evidence.
    pub(crate) original_delivered: bool,
}
