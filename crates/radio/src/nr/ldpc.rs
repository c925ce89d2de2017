//! The code blocks of a transport block.

/// A base graph of the LDPC code (TS 38.212 §5.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseGraph {
    /// Base graph 1: code blocks of up to 8448 bits, mother code rate 1/3.
    One,
    /// Base graph 2: code blocks of up to 3840 bits, mother code rate 1/5.
    Two,
}

impl BaseGraph {
    /// The base graph of a transport block of `bits` without CRC with this target code rate (TS 38.212 §7.2.2).
    #[must_use]
    pub fn of(bits: u32, rate: f64) -> Self {
        if bits <= 292 || (bits <= 3824 && rate <= 0.67) || rate <= 0.25 { Self::Two } else { Self::One }
    }

    /// Largest code block in bits, with CRC: `K_cb` (TS 38.212 §5.2.2).
    #[must_use]
    pub const fn code_block_max(self) -> u32 {
        match self {
            Self::One => 8448,
            Self::Two => 3840,
        }
    }

    /// Columns of the graph for information bits.
    const fn columns(self) -> u32 {
        match self {
            Self::One => 22,
            Self::Two => 10,
        }
    }

    /// Columns that information bits fill: `K_b`, from the number of bits of the transport block with CRC.
    const fn filled(self, with_crc: u32) -> u32 {
        match (self, with_crc) {
            (Self::One, _) => 22,
            (Self::Two, 641..) => 10,
            (Self::Two, 561..) => 9,
            (Self::Two, 193..) => 8,
            (Self::Two, _) => 6,
        }
    }
}

/// The code blocks of a transport block (TS 38.212 §5.2.2). Its formulas are pictures in the text that could be
/// opened; they were taken from descriptions of the clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeBlocks {
    /// The base graph.
    pub graph: BaseGraph,
    /// Number of code blocks: `C`.
    pub count: u32,
    /// Bits of each with its CRC, without filler bits: `K'`.
    pub bits: u32,
    /// Lifting size: `Z_c`.
    pub lifting: u32,
}

impl CodeBlocks {
    /// The code blocks of a transport block of `bits` without CRC with this target code rate.
    #[must_use]
    pub fn new(bits: u32, rate: f64) -> Self {
        const CODE_BLOCK_CRC: u32 = 24;
        let graph = BaseGraph::of(bits, rate);
        // TS 38.212 §7.2.1.
        let with_crc = bits + if bits > 3824 { 24 } else { 16 };
        let (count, total) = if with_crc <= graph.code_block_max() {
            (1, with_crc)
        } else {
            let count = with_crc.div_ceil(graph.code_block_max() - CODE_BLOCK_CRC);
            (count, with_crc + count * CODE_BLOCK_CRC)
        };
        // Transport block sizes are chosen so that this is a whole number.
        let of_one = total.div_ceil(count);
        Self { graph, count, bits: of_one, lifting: lifting(graph.filled(with_crc), of_one) }
    }

    /// Bits of each code block with CRC and filler bits: `K`.
    #[must_use]
    pub const fn filled_bits(self) -> u32 {
        self.graph.columns() * self.lifting
    }
}

/// The smallest lifting size of TS 38.212 table 5.3.2-1 with which the columns hold the bits. The table has a × 2^j up
/// to 384, with a of 2, 3, 5, 7, 9, 11, 13 and 15.
fn lifting(columns: u32, bits: u32) -> u32 {
    let sizes = [2, 3, 5, 7, 9, 11, 13, 15].into_iter().flat_map(|a: u32| (0..8).map(move |j| a << j));
    let fit = sizes.filter(|&size| size <= 384 && columns * size >= bits).min();
    fit.expect("a code block is not larger than the graph")
}
