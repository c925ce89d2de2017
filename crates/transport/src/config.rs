//! How a TCP endpoint is set up.

use airlane_core::{Bytes, Duration, Instant, Seeds};

use crate::CongestionKind;
use crate::congestion::{
    ArwaSender, CubicConfig, LossDiscrimination, MdccConfig, OwnControllers, SlowStartRules,
};
use crate::window::{ArwaReceiver, DrwaReceiver};

/// How a sender finds out that a segment is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// By time and a tail loss probe (RFC 8985), what Linux has done since 4.18.
    RackTlp,
    /// By three SACKed segments above (RFC 6675 `IsLost`), or three duplicate ACKs without SACK.
    Rfc6675,
}

/// What an acknowledgment is worth to a window that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The segments that it acknowledges (RFC 3465 without its limit), as Linux counts.
    PerSegment,
    /// One segment, whatever it acknowledges (RFC 5681 §3.1 equations 2 and 3), as ns-3's NewReno
    /// counts: half as much under delayed acknowledgments.
    PerAck,
}

/// Which round trips update the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttSampling {
    /// One sample per ACK of data that was sent once, as Linux does.
    EachAck,
    /// One timed segment at a time (RFC 6298 §3, Karn's rule), as stacks without timestamps did.
    OncePerWindow,
    /// Each ACK until this instant; afterwards smoothed RTT and timeout stay as they are.
    FrozenAfter(Instant),
}

/// How large a window a receiver offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWindowKind {
    /// Always this many bytes.
    Fixed(Bytes),
    /// Follows what the application reads in a round trip, as Linux's buffer tuning does.
    Autotuned {
        /// Memory of the buffer at the start (the second value of `tcp_rmem`); about half to
        /// two thirds of it is window.
        initial: Bytes,
        /// Memory of the buffer at most (the third value of `tcp_rmem`).
        max: Bytes,
    },
    /// Keeps the queue of the path short by what it offers.
    Drwa(DrwaReceiver),
    /// Tells the sender beside its window what it finds of the path.
    Arwa(ArwaReceiver),
}

/// What the window of a policy is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveBuffer {
    /// As [`ReceiveWindowKind::Fixed`].
    Fixed(Bytes),
    /// As [`ReceiveWindowKind::Autotuned`].
    Autotuned {
        /// Memory of the buffer at the start.
        initial: Bytes,
        /// Memory of the buffer at most.
        max: Bytes,
    },
}

/// How the window shrinks while losses are repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateReductionKind {
    /// Proportional rate reduction (RFC 6937).
    #[default]
    Proportional,
    /// Rate halving as Linux had it until 3.1 (RFC 6937 §1).
    Halving,
}

/// The set-up of one TCP endpoint. Options are used only if both ends offer them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpConfig {
    /// The congestion controller.
    pub congestion: CongestionKind,
    /// What makes it, if it is [`CongestionKind::Own`].
    pub own: Option<OwnControllers>,
    /// How it tells a random loss from one of congestion. BBR judges losses itself.
    pub loss_discriminator: LossDiscrimination,
    /// How it is set up, if it is CUBIC.
    pub cubic: CubicConfig,
    /// How its slow start ends.
    pub slow_start: SlowStartRules,
    /// How it is set up, if it is multi-domain congestion control.
    pub mdcc: MdccConfig,
    /// What an acknowledgment is worth to it.
    pub growth: Growth,
    /// RFC 7323 timestamps, in milliseconds.
    pub timestamps: bool,
    /// RFC 2018 selective acknowledgments.
    pub sack: bool,
    /// RFC 7323 window scaling.
    pub window_scaling: bool,
    /// Delayed acknowledgments (RFC 9293 §3.8.6.3); without, each data segment is acknowledged.
    pub delayed_ack: bool,
    /// Gathering of SACK-carrying ACKs for at most 1 ms or a twentieth of a round trip, as
    /// Linux does from the fourth duplicate ACK on.
    pub compressed_sack: bool,
    /// Initial congestion window in segments (RFC 6928).
    pub initial_window_segments: u32,
    /// Floor under the variance term of the retransmission timeout, as Linux applies it:
    /// RTO = SRTT + max(`rto_min`, 4 RTTVAR).
    pub rto_min: Duration,
    /// Ceiling of the retransmission timeout.
    pub rto_max: Duration,
    /// Retransmission timeout before the first sample (RFC 6298 §2.1).
    pub rto_initial: Duration,
    /// SYNs sent again with back-off before the connection is given up (Linux `tcp_syn_retries`).
    pub syn_retries: u32,
    /// SYNs sent again at even intervals before those (Linux `tcp_syn_linear_timeouts`, since 6.5).
    pub syn_linear_timeouts: u32,
    /// SYN-ACKs sent again before the request is forgotten (Linux `tcp_synack_retries`).
    pub synack_retries: u32,
    /// Timeouts without progress before a connection is given up (Linux `tcp_retries2`): after the time that so many take from
    /// a timeout of 200 ms on, each twice the last, at most `rto_max`; and so many window probes without an answer.
    pub retries: u32,
    /// How losses are detected.
    pub loss_detection: LossDetection,
    /// Whether, without SACK, duplicate ACKs that cover no more than the last recovery did start no other: the "careful"
    /// variant of RFC 2582 §5, and RFC 6582 §3.2 step 2. Else what a recovery sent again in vain may start the next.
    pub careful_fast_retransmit: bool,
    /// F-RTO (RFC 5682, SACK-enhanced).
    pub frto: bool,
    /// HyStart, for controllers that have it.
    pub hystart: bool,
    /// How the window shrinks while losses are repaired.
    pub rate_reduction: RateReductionKind,
    /// Reduction of the window after idle times (RFC 5681 §4.1, RFC 7661).
    pub slow_start_after_idle: bool,
    /// Which round trips update the retransmission timeout.
    pub rtt_sampling: RttSampling,
    /// Whether a SACK gives a round trip and, if it is of data older than the last sending of the head,
    /// restarts the timer, as Linux since 3.12; without, only an ACK of new data does (RFC 6298 §5.3).
    pub rtt_from_sack: bool,
    /// The receive window.
    pub receive_window: ReceiveWindowKind,
    /// Obedience to the codes of an ARWA receiver, for [`CongestionKind::NewReno`]; `None` for a sender
    /// that knows nothing of them and does not permit them.
    pub obeys_codes: Option<ArwaSender>,
    /// Bytes that may be unacknowledged at the sender whatever the windows say.
    pub send_buffer: Option<Bytes>,
    /// Bytes that the application of an endless flow writes at a time, into a queue tuned as Linux
    /// does; each write ends with PSH, which a receiver acknowledges at once. Without, such a flow
    /// has no writes and no PSH.
    pub write_size: Option<Bytes>,
    /// Nagle's algorithm (RFC 9293 §3.7.4) as Linux has it after Minshall: a segment that is not full waits
    /// while another such is not acknowledged.
    pub nagle: bool,
    /// Explicit congestion notification (RFC 3168): this end asks for it. One that is asked agrees
    /// in any case, as Linux's tcp_ecn = 2.
    pub ecn: bool,
    /// Pacing of a window-based controller at Linux's rates; one that models the path paces in any
    /// case.
    pub pacing: bool,
    /// Where a controller that leaves something to chance finds its stream,
    /// `flow/<number>/congestion`.
    pub seeds: Seeds,
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// Sequence number of the SYN.
    pub initial_sequence: u32,
}

impl TcpConfig {
    /// What a Linux 6.x host does by default.
    #[must_use]
    pub const fn linux() -> Self {
        Self {
            congestion: CongestionKind::Cubic,
            own: None,
            loss_discriminator: LossDiscrimination::None,
            cubic: CubicConfig::RFC9438,
            slow_start: SlowStartRules { rtt_exit: false, loss_max_ppm: 0 },
            mdcc: MdccConfig::PAPER,
            growth: Growth::PerSegment,
            timestamps: true,
            sack: true,
            window_scaling: true,
            delayed_ack: true,
            compressed_sack: true,
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
            nagle: false,  // an application that pushes what it writes sets TCP_NODELAY
            ecn: false,    // tcp_ecn 2
            pacing: false, // no fq qdisc
            seeds: Seeds::new(0),
            mtu: 1500,
            initial_sequence: 0,
        }
    }

    /// Maximum segment size that the MTU allows: without IP and TCP header (RFC 9293 §3.7.1).
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
