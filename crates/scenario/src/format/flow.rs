//! Flows: endpoints and transport.

use airlane_core::{Direction, Duration};
use airlane_ran::sdap::Qfi;
use airlane_transport::CongestionKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{App, Ecn, Kernel, LossDiscriminator, Mpquic, Mptcp, Qos, ReceiveWindow, Resolved, tagged};
use crate::quantity::{Rate, Share, Size, Time};

/// Longest delay before a PEP that is no queue.
const WIRED_QUEUE_MAX: Duration = Duration::from_secs(10);

/// The QoS classes of the two bearers (TS 23.501 table 5.7.4-1): low-latency eMBB applications, and the rest.
pub(crate) const LOW_LATENCY_5QI: u8 = 80;
pub(crate) const DEFAULT_5QI: u8 = 9;

/// A flow, or a flow for each UE of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name of the flow in the results. Flows of a group are named `name-1`, `name-2`, ... By default, the name is
    /// `flow-` and the index in the file.
    pub name: Option<String>,
    /// UE or group of UEs at the far end. A wired network has one host and does not need this key.
    pub to: Option<String>,
    /// UE or group of UEs that sends, over a relay at the server (TURN, RFC 8656), which forwards each packet to the UE of
    /// `to` and back. Of two groups, the members with the same number belong together. Needs a call. By default, the
    /// server itself is the other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Access of the UE that carries the flow: the name of a cell or link in `access`, or in a wired network "internet" or
    /// the name of a link. By default, this is the first one. A flow over Multipath TCP has `paths` instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// Direction of the data.
    pub direction: FlowDirection,
    /// The application.
    pub app: App,
    /// The transport protocol.
    pub transport: Transport,
    /// Propagation delay of either direction between the server of this flow and the internet link. By default, there
    /// is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_delay: Option<Time>,
    /// QoS class of its packets in the radio network (TS 23.501 table 5.7.4-1): 80 uses the low-latency bearer
    /// (`l4s_bearer` of the cell), 9 the default one. By default, packets with ECT(1) or CE use the low-latency bearer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = [9, 80, null]))]
    pub five_qi: Option<u8>,
    /// QoS class of the flow, which gets a dedicated bearer. By default, the flow uses the default bearer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qos: Option<Qos>,
    /// Start of the application.
    pub start: Time,
    /// End of the application. By default, this is the end of the run.
    pub stop: Option<Time>,
    /// Times at which a bulk application over TCP changes its sending rate. By default, it always sends as much as the
    /// transport accepts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<Vec<Writes>>,
    /// Repetitions of the flow with later starts. By default, there is one flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
}

impl Flow {
    /// Its QoS flow, if it names a class.
    #[must_use]
    pub fn qos_flow(&self) -> Option<Qfi> {
        self.five_qi.map(|class| if class == LOW_LATENCY_5QI { Qfi::LOW_LATENCY } else { Qfi::DEFAULT })
    }

    /// The time in which its application can send.
    pub fn time_to_send(&self, scenario: &Resolved) -> Duration {
        let end = scenario.run.duration.0;
        self.stop.map_or(end, |stop| stop.0.min(end)).saturating_sub(self.start.0)
    }
}

/// A change of the sending rate of an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Writes {
    /// Time of the change.
    pub at: Time,
    /// New rate. By default, the application sends as much as the transport accepts.
    pub rate: Option<Rate>,
    /// Whether the application stops sending.
    #[serde(default)]
    pub pause: bool,
}

/// Flows that differ only in their start. They are named `name-1`, `name-2`, ...
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// Total number of flows.
    pub count: u32,
    /// Time between the starts of two flows.
    pub every: Time,
}

/// Direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlowDirection {
    /// From the server to the UE.
    Downlink,
    /// From the UE to the server.
    Uplink,
}

impl FlowDirection {
    /// The direction of the flow's data.
    #[must_use]
    pub const fn data(self) -> Direction {
        match self {
            Self::Downlink => Direction::Downlink,
            Self::Uplink => Direction::Uplink,
        }
    }
}

/// A transport protocol.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Transport {
    /// TCP (RFC 9293).
    Tcp(Tcp),
    /// UDP (RFC 768).
    Udp(Udp),
    /// QUIC (RFC 9000), implemented by quinn.
    Quic(Quic),
    /// TCP of a Linux kernel, in virtual time.
    Kernel(Kernel),
    /// Multipath TCP (RFC 8684).
    Mptcp(Mptcp),
    /// QUIC over several paths (draft-ietf-quic-multipath), implemented by noq.
    Mpquic(Mpquic),
    /// ICMP (RFC 792), for app = "ping".
    Icmp,
    /// Whatever a program sends in which the simulation is embedded. No file can name it.
    #[serde(skip)]
    External,
}
tagged!(Transport by "kind" { "tcp" => Tcp(Tcp), "udp" => Udp(Udp), "quic" => Quic(Quic), "kernel" => Kernel(Kernel), "mptcp" => Mptcp(Mptcp), "mpquic" => Mpquic(Mpquic), "icmp" => Icmp });

/// UDP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Udp {
    /// ECN field of the datagrams. Their sender does not respond to marks.
    pub ecn: UdpEcn,
}

/// ECN field of datagrams (RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UdpEcn {
    /// Not ECN-capable.
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1): L4S (RFC 9331).
    Ect1,
}

/// TCP, with the same settings at both ends. Both ends offer the options that are switched on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Implementation whose defaults set the keys that are left out.
    pub preset: TcpPreset,
    /// The congestion controller.
    pub congestion: Congestion,
    /// Name of your own controller, with congestion = "own".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// Settings of multi-domain congestion control, with congestion = "mdcc".
    pub mdcc: Option<Mdcc>,
    /// How random losses are distinguished from congestion losses.
    pub loss_discriminator: LossDiscriminator,
    /// Variant of CUBIC, with congestion = "cubic".
    pub cubic: CubicVariant,
    /// Multiplicative decrease factor of CUBIC: the window after a loss, relative to the window before (RFC 9438 §4.6).
    pub cubic_beta: f64,
    /// The time that the curve of CUBIC does not count, with congestion = "cubic". By default that of Linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cubic_epoch: Option<CubicEpoch>,
    /// Whether CUBIC and NewReno reduce the window less at a congestion mark than at a loss, to 85 % and 80 % (ABE, RFC
    /// 8511). By default they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abe: Option<bool>,
    /// BBRv3 responds to congestion marks, as google/bbr does, if the minimum round-trip time is at most this; there it
    /// is 5 ms. By default it ignores marks, as the draft does. Needs congestion = "bbr3".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn_max_rtt: Option<Time>,
    /// Whether Prague responds as a classic sender at a bottleneck that it classifies as classic by the variation of
    /// the delay, as `prague_ecn_fallback` of Linux. By default it does not. Needs congestion = "prague".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classic_fallback: Option<bool>,
    /// The constant δ of Copa's default mode: a flow keeps about 1/δ segments in the queue. By default 0.5. Needs
    /// congestion = "copa".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copa_delta: Option<f64>,
    /// Whether Copa lowers δ next to flows that fill the queue. By default it does. Needs congestion = "copa".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copa_mode_switching: Option<bool>,
    /// Whether ABC has a second window, of CUBIC, for bottlenecks whose queues have no marks of ABC. By default it has.
    /// Needs congestion = "abc".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abc_fallback: Option<bool>,
    /// The target of C2TCP for the mean round-trip time, in whole milliseconds. By default it is twice the minimum. Needs
    /// congestion = "c2tcp".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub c2tcp_target: Option<Time>,
    /// What ends slow start before a loss, for any controller with a slow start of RFC 5681. By default, `hystart` decides
    /// for CUBIC, C2TCP and MD-CC, and the others leave it at a loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_start: Option<SlowStartAlgorithm>,
    /// Whether an increase of the round-trip time by a quarter ends slow start, as in picoquic of 2020.
    pub slow_start_rtt_exit: bool,
    /// Loss rate up to which losses do not end slow start. With 0 %, each loss ends it.
    pub slow_start_loss: Share,
    /// How much an acknowledgment increases the window.
    pub growth: WindowGrowth,
    /// Maximum size of an IP packet.
    pub mtu: Size,
    /// Maximum segment size. If absent, it is the MTU minus the headers.
    pub mss: Option<Size>,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Delayed acknowledgments (RFC 9293 §3.8.6.3).
    pub delayed_ack: bool,
    /// SACK compression, as in Linux.
    pub compressed_sack: bool,
    /// Whether segments that arrive at one instant, such as those of a transport block, are acknowledged together, as by
    /// hosts with generic receive offload. By default, each segment is handled alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gro: Option<bool>,
    /// Whether the application reads when all segments of an instant have arrived, as after an interrupt of a network
    /// interface. Their acknowledgments wait for it where the window would be smaller otherwise. `gro` includes this. By
    /// default, the application reads each segment at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batched_reads: Option<bool>,
    /// Whether the sender builds segments larger than a packet, up to what a millisecond carries, as hosts with generic
    /// segmentation offload. The last packet of each has PSH, which is acknowledged at once. By default, each packet is
    /// built alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso: Option<bool>,
    /// Initial congestion window in segments (RFC 6928).
    pub initial_window: u32,
    /// Minimum of the variance term of the retransmission timeout.
    pub rto_min: Time,
    /// Maximum of the retransmission timeout.
    pub rto_max: Time,
    /// Retransmission timeout before the first sample.
    pub rto_initial: Time,
    /// Number of SYN retransmissions with exponential back-off before the connection is aborted.
    pub syn_retries: u32,
    /// Number of SYN retransmissions at constant intervals before the first back-off, as in Linux since 6.5.
    pub syn_linear_timeouts: u32,
    /// Number of SYN-ACK retransmissions before the connection attempt is dropped.
    pub synack_retries: u32,
    /// Number of consecutive timeouts after which an established connection is aborted (RFC 9293 §3.8.3). The limit is a
    /// time: the sum of this many timeouts that start at 200 ms and double up to `rto_max`. It is also the number of
    /// unanswered probes of a closed window.
    pub retries: u32,
    /// Loss detection.
    pub loss_detection: LossDetection,
    /// Whether, without SACK, duplicate acknowledgments that cover no more than the last recovery are ignored (RFC 6582
    /// §3.2 step 2).
    pub careful_fast_retransmit: bool,
    /// Detection of spurious timeouts (RFC 5682).
    pub frto: bool,
    /// HyStart, for controllers that have it, unless `slow_start` is set.
    pub hystart: bool,
    /// How the window decreases during recovery.
    pub rate_reduction: RateReduction,
    /// Reduction of the window after idle periods.
    pub slow_start_after_idle: bool,
    /// Which round-trip time samples update the retransmission timeout.
    pub rtt_sampling: RttSampling,
    /// Whether selective acknowledgments give round-trip time samples and restart the timer, as in Linux since 3.12. If
    /// false, only acknowledgments of new data do (RFC 6298 §5.3).
    pub rtt_from_sack: bool,
    /// Nagle's algorithm (RFC 9293 §3.7.4) with Minshall's modification, as in Linux: a small segment waits while another
    /// small segment is unacknowledged.
    pub nagle: bool,
    /// Explicit congestion notification: classic (`true`, RFC 3168), or `"accurate"` (RFC 9768), which reports each mark
    /// and takes 12 bytes of each segment. An end without it (`false`) agrees to classic ECN if it is asked.
    pub ecn: Ecn,
    /// Pacing for controllers that do not pace themselves, at the rates of Linux with an fq queue.
    pub pacing: bool,
    /// The receive window.
    pub receive_window: ReceiveWindow,
    /// Size of the send buffer: maximum number of unacknowledged bytes at the sender. If absent, there is no limit.
    pub send_buffer: Option<Size>,
    /// Bytes per write of a bulk application, into a send queue that is tuned as in Linux. Each write ends with PSH,
    /// which is acknowledged at once. By default, the application writes without end.
    pub write_size: Option<Size>,
}

/// QUIC, with the same settings at both ends. The implementation is quinn; the congestion controllers are those of TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quic {
    /// Implementation whose defaults set the keys that are left out.
    pub preset: QuicPreset,
    /// The congestion controller.
    pub congestion: Congestion,
    /// Name of your own controller, with congestion = "own".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// Settings of multi-domain congestion control, with congestion = "mdcc".
    pub mdcc: Option<Mdcc>,
    /// How random losses are distinguished from congestion losses.
    pub loss_discriminator: LossDiscriminator,
    /// Variant of CUBIC, with congestion = "cubic".
    pub cubic: CubicVariant,
    /// Multiplicative decrease factor of CUBIC: the window after a loss, relative to the window before (RFC 9438 §4.6).
    pub cubic_beta: f64,
    /// The time that the curve of CUBIC does not count, with congestion = "cubic". By default that of Linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cubic_epoch: Option<CubicEpoch>,
    /// Whether CUBIC and NewReno reduce the window less at a congestion mark than at a loss, to 85 % and 80 % (ABE, RFC
    /// 8511). By default they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abe: Option<bool>,
    /// BBRv3 responds to congestion marks, as google/bbr does, if the minimum round-trip time is at most this; there it
    /// is 5 ms. By default it ignores marks, as the draft does. Needs congestion = "bbr3".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn_max_rtt: Option<Time>,
    /// Whether Prague responds as a classic sender at a bottleneck that it classifies as classic by the variation of
    /// the delay, as `prague_ecn_fallback` of Linux. By default it does not. Needs congestion = "prague".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classic_fallback: Option<bool>,
    /// The constant δ of Copa's default mode: a flow keeps about 1/δ segments in the queue. By default 0.5. Needs
    /// congestion = "copa".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copa_delta: Option<f64>,
    /// Whether Copa lowers δ next to flows that fill the queue. By default it does. Needs congestion = "copa".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copa_mode_switching: Option<bool>,
    /// Whether ABC has a second window, of CUBIC, for bottlenecks whose queues have no marks of ABC. By default it has.
    /// Needs congestion = "abc".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abc_fallback: Option<bool>,
    /// The target of C2TCP for the mean round-trip time, in whole milliseconds. By default it is twice the minimum. Needs
    /// congestion = "c2tcp".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub c2tcp_target: Option<Time>,
    /// What ends slow start before a loss, for any controller with a slow start of RFC 5681. By default, `hystart` decides
    /// for CUBIC, C2TCP and MD-CC, and the others leave it at a loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_start: Option<SlowStartAlgorithm>,
    /// Whether an increase of the round-trip time by a quarter ends slow start, as in picoquic of 2020.
    pub slow_start_rtt_exit: bool,
    /// Loss rate up to which losses do not end slow start. With 0 %, each loss ends it.
    pub slow_start_loss: Share,
    /// HyStart, for controllers that have it, unless `slow_start` is set.
    pub hystart: bool,
    /// Initial congestion window in datagrams (RFC 9002 §7.2).
    pub initial_window: u32,
    /// Timeouts of the sender.
    pub timeouts: QuicTimeouts,
    /// Pacing of the sender.
    pub pacing: QuicPacing,
    /// Minimum of the retransmission timeout. It has no effect with probe timeouts.
    pub rto_min: Time,
    /// kPacketThreshold: a packet is lost when one with a number higher by this much is acknowledged (RFC 9002 §6.1.1).
    pub packet_threshold: u32,
    /// kTimeThreshold: number of round-trip times after which a packet is lost if a later one is acknowledged (RFC 9002
    /// §6.1.2).
    pub time_threshold: f64,
    /// kPersistentCongestionThreshold: number of probe timeouts without any delivery that makes persistent congestion
    /// (RFC 9002 §7.6). 0 means never.
    pub persistent_congestion: u32,
    /// Maximum size of an IP packet that path MTU discovery tries.
    pub mtu: Size,
    /// Maximum size of an IP packet before path MTU discovery.
    pub initial_mtu: Size,
    /// Path MTU discovery (RFC 9000 §14.3).
    pub mtu_discovery: bool,
    /// Flow-control window of a stream (RFC 9000 §4.1).
    pub stream_window: Size,
    /// Flow-control window of the connection. If absent, there is no limit.
    pub connection_window: Option<Size>,
    /// Size of the send buffer: maximum number of unacknowledged bytes at the sender.
    pub send_window: Size,
    /// Round-trip time before the first sample (RFC 9002 §6.2.2).
    pub initial_rtt: Time,
    /// Idle timeout, after which an end closes the connection (RFC 9000 §10.1). 0 s means never.
    pub idle_timeout: Time,
    /// Explicit congestion notification (RFC 9000 §13.4).
    pub ecn: bool,
    /// Packet protection.
    pub crypto: QuicCrypto,
}

/// Packet protection of QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuicCrypto {
    /// No protection: a handshake without authentication in as many round trips as TLS, and plain text in packets of the
    /// same size as with AES-GCM.
    Null,
    /// TLS 1.3 (RFC 9001), implemented by rustls. Captures contain the secrets, so that Wireshark can decrypt them.
    Tls,
}

/// Implementation whose defaults set the keys that are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TcpPreset {
    /// A Linux 6.x host with its defaults.
    #[serde(rename = "linux")]
    Linux,
    /// The RFCs without the extensions of an implementation.
    #[serde(rename = "rfc")]
    Rfc,
    /// ns-3.26 with its defaults.
    #[serde(rename = "ns3.26")]
    Ns3_26,
    /// picoquic of 2020, as far as TCP can follow it.
    #[serde(rename = "picoquic-2020")]
    Picoquic2020,
}

/// Implementation whose defaults set the keys that are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum QuicPreset {
    /// quinn 0.11 with its defaults.
    #[serde(rename = "quinn")]
    Quinn,
    /// picoquic of mid-2020, which the authors of MELD used, as far as quinn can follow it.
    #[serde(rename = "picoquic-2020")]
    Picoquic2020,
}

/// The reaction of a QUIC sender when no acknowledgment arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuicTimeouts {
    /// Probe timeouts (RFC 9002 §6.2), which reduce no window.
    Probe,
    /// A retransmission timeout that starts with the oldest packet and reduces the window to two datagrams. It is undone
    /// if that packet is acknowledged later.
    Collapse,
}

/// How a QUIC sender paces its window over a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum QuicPacing {
    /// 1.25 windows per round trip, in bursts of at least ten datagrams; a controller with a rate of its own (`bbr`,
    /// `bbr3`, `prague`) paces at this rate alone.
    #[serde(rename = "quinn")]
    Quinn,
    /// One window per round trip, with bursts of at most a quarter of the window or 16 datagrams after a pause.
    #[serde(rename = "picoquic-2020")]
    Picoquic2020,
}

/// A variant of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CubicVariant {
    /// RFC 9438, as in Linux.
    #[serde(rename = "rfc9438")]
    Rfc9438,
    /// picoquic of 2020: besides the cubic curve, a Reno window that starts at half the window and grows by a segment per
    /// window.
    #[serde(rename = "picoquic-2020")]
    Picoquic2020,
}

/// The time that the curve of CUBIC does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CubicEpoch {
    /// Idle time, in which nothing is in flight, as in Linux.
    Linux,
    /// Also the time in which the application or the receiver limits the sender, so that the window does not grow (RFC
    /// 9438 §5.8).
    Rfc9438,
}

/// What ends slow start before a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SlowStartAlgorithm {
    /// Nothing (RFC 5681).
    #[serde(rename = "standard")]
    Standard,
    /// HyStart of Linux: a long train of acknowledgments, or an increased delay.
    #[serde(rename = "hystart")]
    HyStart,
    /// HyStart++ (RFC 9406): five rounds of a quarter of the growth after an increased delay. First slow start only.
    #[serde(rename = "hystart++")]
    HyStartPlusPlus,
    /// SEARCH (draft-chung-ccwg-search): fewer bytes are acknowledged than were sent a round trip before. First slow
    /// start only.
    #[serde(rename = "search")]
    Search,
}

/// How the window decreases during recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateReduction {
    /// Proportional rate reduction (RFC 6937), as in Linux since 3.2.
    Proportional,
    /// Rate halving, as in Linux before 3.2. After many losses in one window, the window is the data still in flight.
    Halving,
}

macro_rules! define_congestion {
    ($($name:tt => $kind:ident, $meaning:tt;)+) => {
        /// A congestion controller.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum Congestion {
            $(#[doc = $meaning] #[serde(rename = $name)] $kind,)+
            /// Your own controller, which `controller` names and the command line or Python passes to the run.
            #[serde(rename = "own")]
            Own,
        }

        impl Congestion {
            /// The kind of controller.
            #[must_use]
            pub const fn kind(self) -> CongestionKind {
                match self {
                    $(Self::$kind => CongestionKind::$kind,)+
                    Self::Own => CongestionKind::Own,
                }
            }
        }
    };
}
airlane_transport::controllers!(define_congestion);

/// Settings of multi-domain congestion control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mdcc {
    /// Increase of the radio window with each acknowledgment, in segments.
    pub increase: f64,
    /// The data that the two windows limit.
    pub inflight_scope: InflightScope,
    /// What increases the radio window in slow start.
    pub slow_start: SlowStartClock,
    /// A loss behind the PEP needs evidence: a queue behind the PEP, and none before it, by delays of more than this. Without the key, each report is believed.
    pub wired_queue: Option<Time>,
}

impl Mdcc {
    /// The first key whose value is out of range, and what would be right.
    #[must_use]
    pub fn out_of_range(&self) -> Option<(&'static str, &'static str)> {
        if !(0.001..=1.0).contains(&self.increase) {
            return Some(("increase", "it must be from 0.001 to 1 segments for each acknowledgment"));
        }
        let queue = self.wired_queue.is_none_or(|time| time.0 <= WIRED_QUEUE_MAX);
        (!queue).then_some(("wired_queue", "it must be at most 10 s"))
    }
}

/// The data that the two windows of multi-domain congestion control limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InflightScope {
    /// Both limit the data that the client has not acknowledged.
    #[serde(rename = "e2e")]
    EndToEnd,
    /// The window of the internet limits the data that the PEP has not seen.
    #[serde(rename = "per-domain")]
    PerDomain,
    /// There is no internet window: the radio window alone limits the data that the client has not acknowledged, with or without a PEP.
    #[serde(rename = "ran-only")]
    RanOnly,
}

/// What increases the radio window of multi-domain congestion control in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlowStartClock {
    /// The client's acknowledgments.
    Client,
    /// The PEP's acknowledgments; the client's while the PEP is silent.
    Pep,
    /// Each segment sent: the radio window does not limit the sender before its first loss.
    Sent,
}

/// How much an acknowledgment increases the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WindowGrowth {
    /// By the number of segments that it acknowledges (RFC 3465), as in Linux.
    #[serde(rename = "per-segment")]
    PerSegment,
    /// By one segment, independent of how many it acknowledges (RFC 5681 §3.1), as in NewReno of ns-3.
    #[serde(rename = "per-ack")]
    PerAck,
}

/// Loss detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LossDetection {
    /// By time, with a tail loss probe (RFC 8985).
    #[serde(rename = "rack-tlp")]
    RackTlp,
    /// By three segments that arrived after the lost one (RFC 6675).
    #[serde(rename = "rfc6675")]
    Rfc6675,
}

/// Which round-trip time samples update the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum RttSampling {
    /// One sample for each acknowledgment of data that was sent once.
    #[serde(rename = "each-ack")]
    EachAck,
    /// One timed segment at a time.
    #[serde(rename = "once-per-window")]
    OncePerWindow,
    /// One sample for each acknowledgment until this time, then none.
    #[serde(rename = "frozen_after")]
    FrozenAfter(Time),
}
