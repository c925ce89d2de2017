//! The configuration of a TCP endpoint.

use airlane_core::{Bytes, Duration, Instant, Seeds};

use crate::congestion::{
    ArwaSender, ControllerSetup, LawParameters, LossDiscrimination, OwnControllers, SlowStartRules,
};
use crate::window::{ArwaReceiver, DrwaReceiver};
use crate::{CongestionKind, EcnConfig};

/// How a sender detects that a segment is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// By time and a tail loss probe (RFC 8985), as in Linux since 4.18.
    RackTlp,
    /// By three SACKed segments above (RFC 6675 `IsLost`), or three duplicate ACKs without SACK.
    Rfc6675,
}

/// By how much an acknowledgment increases a growing window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowGrowth {
    /// By the segments that it acknowledges (RFC 3465 without its limit), as in Linux.
    PerSegment,
    /// By one segment per acknowledgment (RFC 5681 §3.1 equations 2 and 3), as in ns-3's NewReno:
    /// half as much under delayed acknowledgments.
    PerAck,
}

/// Which round trips update the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttSampling {
    /// A sample per ACK of data that was sent once, as in Linux.
    EachAck,
    /// A timed segment at a time (RFC 6298 §3, Karn's rule), as in stacks without timestamps.
    OncePerWindow,
    /// Each ACK until this instant; afterwards smoothed RTT and timeout are constant.
    FrozenAfter(Instant),
}

/// The size of the window that a receiver advertises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWindowKind {
    /// Always this many bytes.
    Fixed(Bytes),
    /// Follows the amount that the application reads in a round trip, as in Linux's buffer tuning.
    Autotuned {
        /// Initial memory of the buffer (the second value of `tcp_rmem`); about half to two thirds
        /// of it is window.
        initial: Bytes,
        /// Maximum memory of the buffer (the third value of `tcp_rmem`).
        max: Bytes,
    },
    /// DRWA: keeps the queue of the path short by the advertised window.
    Drwa(DrwaReceiver),
    /// ARWA, which also sends codes about the path to the sender.
    Arwa(ArwaReceiver),
}

/// The buffer that limits the window of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveBuffer {
    /// As [`ReceiveWindowKind::Fixed`].
    Fixed(Bytes),
    /// As [`ReceiveWindowKind::Autotuned`].
    Autotuned {
        /// Initial memory of the buffer.
        initial: Bytes,
        /// Maximum memory of the buffer.
        max: Bytes,
    },
}

/// How the window is reduced during loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateReductionKind {
    /// Proportional rate reduction (RFC 6937).
    #[default]
    Proportional,
    /// Rate halving, as in Linux until 3.1 (RFC 6937 §1).
    Halving,
}

/// The configuration of one TCP endpoint. Options are used only if both ends offer them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpConfig {
    /// The congestion controller.
    pub congestion: CongestionKind,
    /// The factory for [`CongestionKind::Own`].
    pub own: Option<OwnControllers>,
    /// The rule that distinguishes random losses from congestion. BBR classifies losses itself.
    pub loss_discriminator: LossDiscrimination,
    /// How slow start ends.
    pub slow_start: SlowStartRules,
    /// Parameters of the laws.
    pub laws: LawParameters,
    /// By how much an acknowledgment increases the window.
    pub growth: WindowGrowth,
    /// RFC 7323 timestamps, in milliseconds.
    pub timestamps: bool,
    /// RFC 2018 selective acknowledgments.
    pub sack: bool,
    /// RFC 7323 window scaling.
    pub window_scaling: bool,
    /// Delayed acknowledgments (RFC 9293 §3.8.6.3); without them, each data segment is acknowledged.
    pub delayed_ack: bool,
    /// Compression of SACK-carrying ACKs for at most 1 ms or a twentieth of a round trip, as in
    /// Linux from the fourth duplicate ACK on.
    pub compressed_sack: bool,
    /// Generic receive offload: segments that arrive at one instant are acknowledged together. Implies
    /// `batched_reads`.
    pub gro: bool,
    /// The application reads when all segments of an instant have arrived, as after an interrupt of a network
    /// interface, not between them.
    pub batched_reads: bool,
    /// Generic segmentation offload: what a millisecond carries leaves as one, with PSH at its end.
    pub gso: bool,
    /// Initial congestion window in segments (RFC 6928).
    pub initial_window_segments: u32,
    /// Floor under the variance term of the retransmission timeout, as in Linux: RTO = SRTT +
    /// max(`rto_min`, 4 RTTVAR).
    pub rto_min: Duration,
    /// Ceiling of the retransmission timeout.
    pub rto_max: Duration,
    /// Retransmission timeout before the first sample (RFC 6298 §2.1).
    pub rto_initial: Duration,
    /// SYN retransmissions with back-off before the connection is given up (Linux `tcp_syn_retries`).
    pub syn_retries: u32,
    /// SYN retransmissions at even intervals before those (Linux `tcp_syn_linear_timeouts`, since 6.5).
    pub syn_linear_timeouts: u32,
    /// SYN-ACK retransmissions before the request is forgotten (Linux `tcp_synack_retries`).
    pub synack_retries: u32,
    /// Timeouts without progress before a connection is given up (Linux `tcp_retries2`). Linux converts the
    /// number to a duration: that of this many timeouts, the first of 200 ms, each twice the previous one, at
    /// most `rto_max`. The connection is also given up after this many window probes without an answer.
    pub retries: u32,
    /// How losses are detected.
    pub loss_detection: LossDetection,
    /// Whether, without SACK, duplicate ACKs that cover no more than the last recovery start no further
    /// recovery: the "careful" variant of RFC 2582 §5, and RFC 6582 §3.2 step 2. If false, unnecessary
    /// retransmissions of a recovery may start the next one.
    pub careful_fast_retransmit: bool,
    /// F-RTO (RFC 5682, SACK-enhanced).
    pub frto: bool,
    /// HyStart, for controllers that have it.
    pub hystart: bool,
    /// How the window is reduced during loss recovery.
    pub rate_reduction: RateReductionKind,
    /// Reduction of the window after idle times (RFC 5681 §4.1, RFC 7661).
    pub slow_start_after_idle: bool,
    /// Which round trips update the retransmission timeout.
    pub rtt_sampling: RttSampling,
    /// Whether a SACK gives a round-trip sample and restarts the timer if its data is older than the
    /// last transmission of the head, as in Linux since 3.12. If false, only an ACK of new data does
    /// (RFC 6298 §5.3).
    pub rtt_from_sack: bool,
    /// The receive window.
    pub receive_window: ReceiveWindowKind,
    /// Obeys the codes of an ARWA receiver, for [`CongestionKind::NewReno`]; `None` for a sender that
    /// does not support them and does not permit them.
    pub obeys_codes: Option<ArwaSender>,
    /// Maximum number of unacknowledged bytes at the sender, in addition to the windows.
    pub send_buffer: Option<Bytes>,
    /// Bytes per write of the application of an endless flow, into a queue tuned as in Linux; each
    /// write ends with PSH, which a receiver acknowledges at once. If `None`, such a flow has no
    /// writes and no PSH.
    pub write_size: Option<Bytes>,
    /// Nagle's algorithm (RFC 9293 §3.7.4) in Linux's variant by Minshall: a segment that is not full waits
    /// while another such segment is unacknowledged.
    pub nagle: bool,
    /// Explicit congestion notification.
    pub ecn: EcnConfig,
    /// Pacing of a window-based controller at Linux's rates; a model-based controller always paces.
    pub pacing: bool,
    /// The source of a controller's random stream, `flow/<number>/congestion`.
    pub seeds: Seeds,
    /// Bytes of each header that are left for options of a protocol above, such as those of Multipath TCP.
    pub option_room: u16,
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// Sequence number of the SYN.
    pub initial_sequence: u32,
}

impl TcpConfig {
    /// The defaults of a Linux 6.x host.
    #[must_use]
    pub const fn linux() -> Self {
        Self {
            congestion: CongestionKind::Cubic,
            own: None,
            loss_discriminator: LossDiscrimination::None,
            laws: LawParameters::DEFAULT,
            slow_start: SlowStartRules::LAW,
            growth: WindowGrowth::PerSegment,
            timestamps: true,
            sack: true,
            window_scaling: true,
            delayed_ack: true,
            compressed_sack: true,
            gro: false, // on in Linux; here, a scenario switches them on
            batched_reads: false,
            gso: false,
            initial_window_segments: 10,            // RFC 6928 §2
            rto_min: Duration::from_millis(200),    // tcp_rto_min_us
            rto_max: Duration::from_secs(120),      // TCP_RTO_MAX
            rto_initial: Duration::from_secs(1),    // RFC 6298 §2.1
            syn_retries: 6,                         // tcp_syn_retries
            syn_linear_timeouts: 4,                 // tcp_syn_linear_timeouts
            synack_retries: 5,                      // tcp_synack_retries
            retries: 15,                            // tcp_retries2
            loss_detection: LossDetection::RackTlp, // tcp_recovery 1
            careful_fast_retransmit: true,          // tcp_try_undo_recovery
            frto: true,                             // tcp_frto 2
            hystart: true,
            rate_reduction: RateReductionKind::Proportional, // since Linux 3.2
            slow_start_after_idle: true,
            rtt_sampling: RttSampling::EachAck,
            rtt_from_sack: true,
            // tcp_rmem 4096 131072 6291456
            receive_window: ReceiveWindowKind::Autotuned { initial: Bytes(131_072), max: Bytes(6_291_456) },
            obeys_codes: None,
            send_buffer: None,
            write_size: None,
            nagle: false, // an application that writes complete messages sets TCP_NODELAY
            ecn: EcnConfig::PASSIVE,
            pacing: false, // no fq qdisc
            seeds: Seeds::new(0),
            option_room: 0,
            mtu: 1500,
            initial_sequence: 0,
        }
    }

    /// The setup of the controller; it obeys codes only if the peer sends them.
    pub(crate) fn controller(&self, codes: bool) -> ControllerSetup<'_> {
        ControllerSetup {
            kind: self.congestion,
            own: self.own.as_ref(),
            discriminator: self.loss_discriminator,
            slow_start: self.slow_start,
            hystart: self.hystart,
            laws: self.laws,
            codes: self.obeys_codes.filter(|_| codes),
            paced: false, // Linux's HyStart asks only whether the controller itself paces
        }
    }

    /// Maximum segment size for the MTU: without IP and TCP header (RFC 9293 §3.7.1).
    #[must_use]
    pub const fn mss(&self) -> u16 {
        self.mtu - 40
    }
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self::linux()
    }
}
