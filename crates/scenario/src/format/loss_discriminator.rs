//! Rules by which a sender tells random loss from congestion.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::quantity::{Share, Size, Time};

/// How random losses, which do not change the window, are distinguished from congestion losses. It has no effect on BBR.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LossDiscriminator {
    /// No distinction: every loss is a congestion loss (RFC 5681).
    Legacy,
    /// Every loss and timeout is random; only congestion marks change the window. A control for experiments: without
    /// it, nothing shows what the information of a rule is worth. It takes all of a path that it shares.
    Ignore,
    /// MELD-DE (Diarra et al., HPSR 2021): a loss is random unless the last transport block of the UE, as the base
    /// station reports it, was smaller than `pdu` divided by `harq_processes`. Without reports, every loss is a
    /// congestion loss.
    MeldDe(MeldDe),
    /// MELD-ME (same paper): as MELD-DE, and the RLC queue of the UE must also be below a threshold.
    MeldMe(MeldMe),
    /// A loss with fewer than three segments in the queue is random (Fu and Liew 2003).
    Veno,
    /// A loss is random while the round-trip time is below its value at the knee of the path (Samaraweera 1999).
    Ncpld,
    /// A loss is random while the queue, estimated from the round-trip time, is at most a fraction of its maximum (Park
    /// and Chung 2010).
    LdaEq(LdaEq),
}
tagged!(LossDiscriminator by "kind" {
    "legacy" => Legacy,
    "ignore" => Ignore,
    "meld-de" => MeldDe(MeldDe),
    "meld-me" => MeldMe(MeldMe),
    "veno" => Veno,
    "ncpld" => Ncpld,
    "lda-eq" => LdaEq(LdaEq),
});

/// MELD-DE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeldDe {
    /// T_PDU of the paper: the packet that the transport blocks of one round of HARQ must carry. If they cannot, the
    /// channel is bad.
    pub pdu: Size,
    /// N_HARQ of the paper: number of HARQ processes of the UE, with one transport block each. A transport block below
    /// `pdu` divided by `harq_processes` indicates congestion.
    pub harq_processes: u8,
    /// Age above which a report of the base station is not used. 0 s means no limit.
    pub stale_after: Time,
    /// How retransmission timeouts are treated (QUIC: persistent congestion).
    pub timeouts: MeldTimeouts,
}

/// MELD-ME.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeldMe {
    /// Threshold of the queue.
    pub threshold: MeldThreshold,
    /// T_PDU of the paper: the packet that the transport blocks of one round of HARQ must carry. If they cannot, the
    /// channel is bad.
    pub pdu: Size,
    /// N_HARQ of the paper: number of HARQ processes of the UE, with one transport block each. A transport block below
    /// `pdu` divided by `harq_processes` indicates congestion. `threshold` is this many blocks.
    pub harq_processes: u8,
    /// Age above which a report of the base station is not used. 0 s means no limit.
    pub stale_after: Time,
    /// How retransmission timeouts are treated (QUIC: persistent congestion).
    pub timeouts: MeldTimeouts,
}

/// Queue threshold of MELD-ME. The largest transport block is that of one layer over all resource blocks of the widest
/// cell with MCS 28: 2292 bytes for 25 resource blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeldThreshold {
    /// Eight of the largest transport blocks for each HARQ process, as in the authors' code, which confuses bits and
    /// bytes: 146,688 bytes for 25 resource blocks.
    AsRun,
    /// One of the largest transport blocks for each HARQ process: 18,336 bytes.
    Derived,
    /// One transport block for each HARQ process, of the size that the resource blocks of the UE carry at its CQI, both
    /// as last reported, and at most the last reported transport block: Algorithm 1, whose formula is missing from our
    /// copy of the paper.
    Present,
}

/// How retransmission timeouts are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MeldTimeouts {
    /// As losses, as in the authors' code: a random timeout does not change the window.
    Judged,
    /// As congestion in every case.
    Congestion,
}

/// LDA_EQ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LdaEq {
    /// Fraction of the largest observed queue above which a loss is a congestion loss.
    pub threshold: Share,
}
