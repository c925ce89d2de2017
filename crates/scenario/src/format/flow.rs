//! Flows: who talks to whom, what the application does, and over which transport.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Dash, Video, tagged};
use crate::quantity::{Rate, Share, Size, Time};

/// A flow, or one for each UE of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name in the results; flows of a group are called `name-1`, `name-2`, ... None for
    /// `flow-` and its place in the file.
    pub name: Option<String>,
    /// The UE or group at its far end. None in a wired network, which has one host.
    pub to: Option<String>,
    /// Which way the data goes.
    pub direction: FlowDirection,
    /// What the application does.
    pub app: App,
    /// What carries it.
    pub transport: Transport,
    /// When the application begins.
    pub start: Time,
    /// When the application ends; none for the end of the run.
    pub stop: Option<Time>,
    /// When an application that sends as much as the transport takes has less, over TCP; none if it never has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<Vec<Writes>>,
    /// More flows like it, which start later; none for one flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
}

/// How much an application writes from some time on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Writes {
    /// When.
    pub at: Time,
    /// At which rate; none for as much as the transport takes.
    pub rate: Option<Rate>,
    /// True for nothing at all.
    #[serde(default)]
    pub pause: bool,
}

/// Flows that are alike but for their start. They are called `name-1`, `name-2`, ...
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// How many flows in all.
    pub count: u32,
    /// From the start of one to the start of the next.
    pub every: Time,
}

/// Which way the data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlowDirection {
    /// From the server to the UE.
    Downlink,
    /// From the UE to the server.
    Uplink,
}

/// What an application does.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum App {
    /// Sends as much as the transport takes.
    Bulk,
    /// Sends so many bytes.
    Fixed(Fixed),
    /// Sends at a constant rate.
    Cbr(Cbr),
    /// Sends overlapping bursts: a Poisson Pareto Burst Process.
    Ppbp(Ppbp),
    /// Watches a video that is one file.
    Video(Video),
    /// Loads web pages: a browser at the UE, over connections of its own to each server.
    Web(Web),
    /// Watches a video in segments.
    Dash(Dash),
}
tagged!(App by "kind" {
    "bulk" => Bulk,
    "fixed" => Fixed(Fixed),
    "cbr" => Cbr(Cbr),
    "ppbp" => Ppbp(Ppbp),
    "video" => Video(Video),
    "web" => Web(Web),
    "dash" => Dash(Dash),
});

/// A web browser and the servers of its pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// The pages: `2011`, twenty synthetic ones after what was measured of popular pages in that year; or a page set
    /// (`.csv`) or what a browser recorded (`.har`, HTTP Archive 1.2), named from where the scenario file is.
    pub pages: String,
    /// In which order they are visited.
    pub visits: Visits,
    /// How many are visited; none for as many as the time allows.
    pub count: Option<u32>,
    /// Mean of the reader's time to think after a page, drawn from an exponential distribution.
    pub think_time: Time,
    /// The version of HTTP.
    pub http: HttpVersion,
    /// Whether connections of TCP begin with a handshake of TLS 1.3 (RFC 8446) and carry its records. Those of QUIC
    /// always shake hands as it does.
    pub tls: bool,
    /// Connections to a server at most, over HTTP/1.1.
    pub connections_per_server: u32,
    /// Connections in all at most.
    pub connections: u32,
    /// Requests on a connection that are not answered yet, at most, over HTTP/1.1; 1 is no pipelining.
    pub pipelining: u32,
    /// How long an idle connection is kept.
    pub keep_alive: Time,
    /// Whether names are looked up, over UDP, before servers are talked to.
    pub dns: bool,
    /// What the resolver needs for a name.
    pub dns_lookup: Time,
    /// How long its answer is believed.
    pub dns_ttl: Time,
}

/// In which order pages are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Visits {
    /// Each drawn from all, with equal chances.
    Random,
    /// As they stand in the file, and from the first again.
    InOrder,
}

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HttpVersion {
    /// HTTP/1.1 (RFC 9112): some connections for each server, one response after another on each.
    #[serde(rename = "1.1")]
    One,
    /// HTTP/2 (RFC 9113): one connection for each server, on which it sends the most urgent response first.
    #[serde(rename = "2")]
    Two,
    /// HTTP/3 (RFC 9114), over QUIC: the same, with a stream for each response, and what is lost of one holds up no other.
    #[serde(rename = "3")]
    Three,
}

/// A transfer of so many bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// Application bytes.
    pub size: Size,
    /// How many such transfers, each after the one before, over one connection. Only QUIC, where the host
    /// asks for each of them, has several.
    pub objects: u32,
}

/// A constant rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Application bits per second.
    pub rate: Rate,
    /// Application bytes per packet.
    pub payload: Size,
}

/// Bursts that arrive as a Poisson process and whose length follows a Pareto distribution
/// (Zukerman, Neame and Addie, INFOCOM 2003).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ppbp {
    /// Bits per second of each burst under way; see `spacing`.
    pub rate: Rate,
    /// Mean length of a burst, in the words of `reading`.
    pub length: Time,
    /// Mean number of bursts under way, in the words of `reading`.
    pub active: f64,
    /// Hurst parameter: above 0.5 and below 1.
    pub hurst: f64,
    /// What `length` and `active` stand for.
    pub reading: PpbpReading,
    /// Application bytes per packet.
    pub payload: Size,
    /// Bytes that a packet counts as, for the rate.
    pub spacing: Size,
}

/// What the length and the number of bursts stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PpbpReading {
    /// As the module for ns-3 takes them (Ammar, Begin and Guérin-Lassous, SIMUTools 2011): so many
    /// bursts begin in a second, at most 3 s apart, and the length is the shortest of a burst.
    Module,
    /// As they are called.
    Literal,
}

/// What carries an application.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Transport {
    /// TCP (RFC 9293).
    Tcp(Tcp),
    /// UDP (RFC 768).
    Udp,
    /// QUIC (RFC 9000), as quinn speaks it.
    Quic(Quic),
}
tagged!(Transport by "kind" { "tcp" => Tcp(Tcp), "udp" => Udp, "quic" => Quic(Quic) });

/// TCP, both ends alike. Options are used only if both ends offer them, which they do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Whose choices fill what is left out.
    pub preset: TcpPreset,
    /// The congestion controller.
    pub congestion: Congestion,
    /// Its name, if it is one of your own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// How it is set up, if it is multi-domain congestion control.
    pub mdcc: Option<Mdcc>,
    /// How random losses are told from those of congestion.
    pub loss_discriminator: LossDiscriminator,
    /// Whose CUBIC it is, if it is CUBIC.
    pub cubic: CubicVariant,
    /// CUBIC's window after a loss, as a part of the one before (RFC 9438 §4.6).
    pub cubic_beta: f64,
    /// Whether a round trip that has risen by a quarter ends slow start, as in picoquic of 2020.
    pub slow_start_rtt_exit: bool,
    /// The share of lost packets up to which a loss does not end slow start; 0 % if each does.
    pub slow_start_loss: Share,
    /// What an acknowledgment is worth to a window that grows.
    pub growth: Growth,
    /// Largest IP packet.
    pub mtu: Size,
    /// Payload of a full segment; none for what the MTU leaves beside the headers.
    pub mss: Option<Size>,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Delayed acknowledgments (RFC 9293 §3.8.6.3).
    pub delayed_ack: bool,
    /// Gathering of acknowledgments with SACK blocks, as Linux does.
    pub compressed_sack: bool,
    /// Initial congestion window in segments (RFC 6928).
    pub initial_window: u32,
    /// Floor of the variance term of the retransmission timeout.
    pub rto_min: Time,
    /// Ceiling of the retransmission timeout.
    pub rto_max: Time,
    /// Retransmission timeout before the first sample.
    pub rto_initial: Time,
    /// SYNs that are sent again with back-off before a connection is given up.
    pub syn_retries: u32,
    /// SYNs that are sent again at even intervals before those, as Linux does since 6.5.
    pub syn_linear_timeouts: u32,
    /// Answers to a SYN that are sent again before it is forgotten.
    pub synack_retries: u32,
    /// Timeouts in a row before a connection that stands is given up (RFC 9293 §3.8.3): after the time that so many take from
    /// one of 200 ms on, each twice the one before up to `rto_max`. Also so many probes of a closed window without an answer.
    pub retries: u32,
    /// How losses are detected.
    pub loss_detection: LossDetection,
    /// Whether, without SACK, duplicate acknowledgments that cover no more than the last recovery did start no other (RFC
    /// 6582 §3.2 step 2).
    pub careful_fast_retransmit: bool,
    /// Detection of spurious timeouts (RFC 5682).
    pub frto: bool,
    /// HyStart, for controllers that have it.
    pub hystart: bool,
    /// How the window shrinks while losses are repaired.
    pub rate_reduction: RateReduction,
    /// Reduction of the window after idle times.
    pub slow_start_after_idle: bool,
    /// Which round trips update the retransmission timeout.
    pub rtt_sampling: RttSampling,
    /// Whether selective acknowledgments give round trips and restart the timer too, as in Linux
    /// since 3.12; without, only acknowledgments of new data do (RFC 6298 §5.3).
    pub rtt_from_sack: bool,
    /// Nagle's algorithm (RFC 9293 §3.7.4), after Minshall as in Linux: a segment that is not full waits while
    /// another such is not acknowledged.
    pub nagle: bool,
    /// Explicit congestion notification (RFC 3168): asked for, and so agreed to.
    pub ecn: bool,
    /// Pacing of a controller that does not pace by itself, at the rates of Linux with an fq queue.
    pub pacing: bool,
    /// The receive window.
    pub receive_window: ReceiveWindow,
    /// Bytes that may be unacknowledged at the sender whatever the windows say; none for no limit.
    pub send_buffer: Option<Size>,
    /// Bytes that the application of a bulk flow writes at a time into a queue tuned as Linux's: each write
    /// ends with PSH, which is acknowledged at once. None for an application that never ends a write.
    pub write_size: Option<Size>,
}

/// QUIC, both ends alike: the implementation is quinn's, the congestion controllers are those of TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quic {
    /// Whose choices fill what is left out.
    pub preset: QuicPreset,
    /// The congestion controller.
    pub congestion: Congestion,
    /// How it is set up, if it is multi-domain congestion control.
    pub mdcc: Option<Mdcc>,
    /// How random losses are told from those of congestion.
    pub loss_discriminator: LossDiscriminator,
    /// Whose CUBIC it is, if it is CUBIC.
    pub cubic: CubicVariant,
    /// CUBIC's window after a loss, as a part of the one before (RFC 9438 §4.6).
    pub cubic_beta: f64,
    /// Whether a round trip that has risen by a quarter ends slow start, as in picoquic of 2020.
    pub slow_start_rtt_exit: bool,
    /// The share of lost packets up to which a loss does not end slow start; 0 % if each does.
    pub slow_start_loss: Share,
    /// HyStart, for controllers that have it.
    pub hystart: bool,
    /// Initial congestion window in datagrams (RFC 9002 §7.2).
    pub initial_window: u32,
    /// What silence costs.
    pub timeouts: QuicTimeouts,
    /// Who says when a datagram may leave.
    pub pacing: QuicPacing,
    /// Floor of the retransmission timeout. Of no use with probe timeouts.
    pub rto_min: Time,
    /// Packets acknowledged above a packet that make it lost (RFC 9002 §6.1.1).
    pub packet_threshold: u32,
    /// Round trips after which a packet is lost if one above it is acknowledged (RFC 9002 §6.1.2).
    pub time_threshold: f64,
    /// Probe timeouts within which everything is lost that are persistent congestion (RFC 9002 §7.6); 0 for never.
    pub persistent_congestion: u32,
    /// Largest IP packet that path MTU discovery looks for.
    pub mtu: Size,
    /// Largest IP packet before it has found anything.
    pub initial_mtu: Size,
    /// Path MTU discovery (RFC 9000 §14.3).
    pub mtu_discovery: bool,
    /// Flow-control credit that a receiver gives a stream (RFC 9000 §4.1).
    pub stream_window: Size,
    /// Flow-control credit that it gives all streams; none for no limit.
    pub connection_window: Option<Size>,
    /// Bytes that may be unacknowledged at the sender whatever the windows say.
    pub send_window: Size,
    /// Round-trip time before the first sample (RFC 9002 §6.2.2).
    pub initial_rtt: Time,
    /// Silence after which an end gives the connection up (RFC 9000 §10.1); 0 s for never.
    pub idle_timeout: Time,
    /// Explicit congestion notification (RFC 9000 §13.4).
    pub ecn: bool,
    /// What protects packets.
    pub crypto: QuicCrypto,
}

/// What protects the packets of QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuicCrypto {
    /// Nothing: a handshake that proves nothing in as many round trips, and clear text in packets as long as with AES-GCM.
    Null,
    /// TLS 1.3 (RFC 9001), as rustls speaks it. Captures hold the secrets, so that Wireshark reads them.
    Tls,
}

/// Whose choices fill what is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TcpPreset {
    /// A Linux 6.x host with its defaults.
    #[serde(rename = "linux")]
    Linux,
    /// The letter of the RFCs.
    #[serde(rename = "rfc")]
    Rfc,
    /// ns-3.26 with its defaults.
    #[serde(rename = "ns3.26")]
    Ns3_26,
    /// picoquic of 2020, as far as TCP can be like it.
    #[serde(rename = "picoquic-2020")]
    Picoquic2020,
}

/// Whose choices fill what is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum QuicPreset {
    /// quinn 0.11 with its defaults.
    #[serde(rename = "quinn")]
    Quinn,
    /// picoquic of mid-2020, as the authors of MELD ran it, where quinn can be like it.
    #[serde(rename = "picoquic-2020")]
    Picoquic2020,
}

/// What a QUIC sender does when nothing is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuicTimeouts {
    /// Probe timeouts (RFC 9002 §6.2), which reduce no window.
    Probe,
    /// A retransmission timeout that runs from the oldest packet and leaves two datagrams of the window, taken back if
    /// that packet is acknowledged after all.
    Collapse,
}

/// How a QUIC sender spreads its window over a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum QuicPacing {
    /// 1.25 windows per round trip, in bursts of at least ten datagrams.
    #[serde(rename = "quinn")]
    Quinn,
    /// One window per round trip, after a pause at most a quarter of it or 16 datagrams at once.
    #[serde(rename = "picoquic-2020")]
    Picoquic2020,
}

/// Whose CUBIC it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CubicVariant {
    /// RFC 9438, as Linux has it.
    #[serde(rename = "rfc9438")]
    Rfc9438,
    /// picoquic of 2020: beside the cubic curve a Reno window that starts from half and grows by a segment per window.
    #[serde(rename = "picoquic-2020")]
    Picoquic2020,
}

/// How the window shrinks while losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateReduction {
    /// Proportional rate reduction (RFC 6937), as Linux since 3.2.
    Proportional,
    /// Rate halving, as Linux before: after many losses at once the window is what they have left.
    Halving,
}

/// A congestion controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Congestion {
    /// RFC 9438.
    Cubic,
    /// RFC 5681, RFC 6582.
    NewReno,
    /// Scalable TCP (Kelly 2003).
    Scalable,
    /// Vegas (Brakmo and Peterson 1995).
    Vegas,
    /// Westwood+ (Grieco and Mascolo 2004).
    Westwood,
    /// Veno (Fu and Liew 2003).
    Veno,
    /// BBR version 1, as in Linux.
    Bbr,
    /// BBR version 3 (draft-ietf-ccwg-bbr).
    Bbr3,
    /// Multi-domain congestion control (Krämer et al. 2019), which listens to a PEP.
    Mdcc,
    /// One of your own, which `controller` names and who runs the scenario brings along.
    Own,
}

/// How multi-domain congestion control is set up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mdcc {
    /// Segments by which the radio window grows with each acknowledgment.
    pub increase: f64,
    /// What the windows limit.
    pub inflight_scope: InflightScope,
}

/// What the two windows of multi-domain congestion control limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InflightScope {
    /// Both limit what the client has not acknowledged.
    #[serde(rename = "e2e")]
    EndToEnd,
    /// That of the internet limits what the PEP has not seen.
    #[serde(rename = "per-domain")]
    PerDomain,
}

/// How random losses, which leave the window as it is, are told from those of congestion. BBR judges
/// losses itself and takes no notice.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LossDiscriminator {
    /// Not at all: every loss is one of congestion (RFC 5681).
    Legacy,
    /// MELD-DE (Diarra et al., HPSR 2021): a loss is random unless the UE's last transport block was smaller than
    /// a packet divided by the HARQ processes, as the base station says. Without its word every loss is one of
    /// congestion.
    MeldDe(MeldDe),
    /// MELD-ME (the same): nor may the queue of the UE's RLC entity have reached a threshold.
    MeldMe(MeldMe),
    /// A loss with fewer than three segments in the queue is random (Fu and Liew 2003).
    Veno,
    /// A loss is random while the round trip is below that at the knee of the path (Samaraweera 1999).
    Ncpld,
    /// A loss is random while the queue, as the round trip shows it, is not fuller than a share of its fullest
    /// (Park and Chung 2010).
    LdaEq(LdaEq),
}
tagged!(LossDiscriminator by "kind" {
    "legacy" => Legacy,
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
    /// The packet that the transport blocks of one round of HARQ must carry, or the channel is too bad: T_PDU of the
    /// paper.
    pub pdu: Size,
    /// HARQ processes of the UE, one transport block each: N_HARQ of the paper. A transport block below `pdu` over
    /// `harq_processes` is one of congestion.
    pub harq_processes: u8,
    /// Age from which on what the base station said is not used; 0 s for never.
    pub stale_after: Time,
    /// What becomes of retransmission timeouts (QUIC: of persistent congestion).
    pub timeouts: MeldTimeouts,
}

/// MELD-ME.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeldMe {
    /// With what the queue is compared.
    pub threshold: MeldThreshold,
    /// The packet that the transport blocks of one round of HARQ must carry, or the channel is too bad: T_PDU of the
    /// paper.
    pub pdu: Size,
    /// HARQ processes of the UE, one transport block each: N_HARQ of the paper. A transport block below `pdu` over
    /// `harq_processes` is one of congestion, and `threshold` is counted in as many blocks.
    pub harq_processes: u8,
    /// Age from which on what the base station said is not used; 0 s for never.
    pub stale_after: Time,
    /// What becomes of retransmission timeouts (QUIC: of persistent congestion).
    pub timeouts: MeldTimeouts,
}

/// With what MELD-ME compares the queue. The largest transport block is that of one layer, over all resource blocks
/// of the widest cell, with MCS 28: 2292 bytes for 25 of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeldThreshold {
    /// With eight of the largest transport block for each HARQ process, as the authors' code does, which takes bits for
    /// bytes: 146,688 bytes for 25 resource blocks.
    AsRun,
    /// With one for each HARQ process, as that is derived: 18,336 bytes.
    Derived,
    /// With one transport block for each HARQ process, of the size that the UE's resource blocks carry at its CQI, both
    /// as last published, but not above the transport block last published: Algorithm 1, whose own formula is lost.
    Present,
}

/// What becomes of retransmission timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MeldTimeouts {
    /// They are judged as losses are, as in the authors' code: one that is random changes no window.
    Judged,
    /// They are congestion, whatever the base station says.
    Congestion,
}

/// LDA_EQ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LdaEq {
    /// Share of the largest queue seen from which on a loss is one of congestion.
    pub threshold: Share,
}

/// What an acknowledgment is worth to a window that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Growth {
    /// The segments that it acknowledges (RFC 3465), as in Linux.
    #[serde(rename = "per-segment")]
    PerSegment,
    /// One segment, whatever it acknowledges (RFC 5681 §3.1), as in the NewReno of ns-3.
    #[serde(rename = "per-ack")]
    PerAck,
}

/// How losses are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LossDetection {
    /// By time, with a tail loss probe (RFC 8985).
    #[serde(rename = "rack-tlp")]
    RackTlp,
    /// By three segments that arrived after it (RFC 6675).
    #[serde(rename = "rfc6675")]
    Rfc6675,
}

/// Which round trips update the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum RttSampling {
    /// One sample per acknowledgment of data that was sent once.
    #[serde(rename = "each-ack")]
    EachAck,
    /// One timed segment at a time.
    #[serde(rename = "once-per-window")]
    OncePerWindow,
    /// Each acknowledgment until this time; afterwards none.
    #[serde(rename = "frozen_after")]
    FrozenAfter(Time),
}

/// How large a window the receiver offers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ReceiveWindow {
    /// Always the same.
    Fixed(FixedWindow),
    /// What the application reads in a round trip, and more.
    Autotuned(AutotunedWindow),
    /// DRWA (Jiang et al., IMC 2012): what keeps the path's queue short.
    Drwa(DrwaWindow),
    /// ARWA (Adesh and Renuka, 2019): all of the buffer, and beside it codes that a NewReno sender obeys.
    Arwa(ArwaWindow),
}
tagged!(ReceiveWindow by "kind" {
    "fixed" => Fixed(FixedWindow),
    "autotuned" => Autotuned(AutotunedWindow),
    "drwa" => Drwa(DrwaWindow),
    "arwa" => Arwa(ArwaWindow),
});

/// What a receive window is taken from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ReceiveBuffer {
    /// Always the same.
    Fixed(FixedWindow),
    /// What the application reads in a round trip, and more.
    Autotuned(AutotunedWindow),
}
tagged!(ReceiveBuffer by "kind" { "fixed" => Fixed(FixedWindow), "autotuned" => Autotuned(AutotunedWindow) });

/// A window that keeps the path's queue short: `lambda` times the least round trip over the present one, times
/// what comes in a round trip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrwaWindow {
    /// The most that it offers.
    pub buffer: ReceiveBuffer,
    /// The smallest window in segments. With 0 the rule can offer less than a segment, and the sender waits for
    /// its persist timer.
    pub floor: u32,
    /// How many times the window of an empty path it offers.
    pub lambda: f64,
    /// Weight of the estimate so far in the moving average of what comes in a round trip; the last round trip has
    /// the rest.
    pub alpha: f64,
}

/// A receiver that tells its sender by how much the window is too large or too small, and a sender that
/// obeys. Where the paper leaves a choice, there is a key for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArwaWindow {
    /// What it offers.
    pub buffer: ReceiveBuffer,
    /// What stands for the delay of a segment. All of them need `timestamps`.
    pub delay: ArwaDelay,
    /// How far the receiver's clock is ahead of the sender's.
    pub clock_ahead: Time,
    /// How far it is behind.
    pub clock_behind: Time,
    /// Whether short segments count too, which have a lower rate at the same delay.
    pub short_segments: bool,
    /// What the code is where the delay is raised, but not tenfold.
    pub case_two: ArwaCaseTwo,
    /// What is remembered of a code that was lessened because one went out in the same 30 ms.
    pub old_code: ArwaOldCode,
    /// What a code takes from the sender's window.
    pub cut: ArwaStep,
    /// What a code adds to the sender's window.
    pub gain: ArwaStep,
    /// Codes do not reduce the sender's window to less.
    pub window_min: Size,
    /// When the sender's window is above it, codes add half.
    pub upper_target: Size,
    /// Which codes the sender obeys.
    pub obeys: ArwaObeys,
    /// What becomes of the sender's slow start when a code reduces its window.
    pub slow_start: ArwaSlowStart,
}

/// What stands for the delay of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArwaDelay {
    /// The receiver's clock less the sender's timestamp: needs clocks that agree.
    OneWay,
    /// How much later than the fastest segment, on top of half the least round trip.
    Relative,
    /// The round trip by the receiver's own timestamps.
    RoundTrip,
}

/// What the code is where the delay is raised, but not tenfold; P is how much lower the rate is, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArwaCaseTwo {
    /// Half of P - 30, 0 to 30.
    Scaled,
    /// P - 30, 0 to 60.
    Difference,
}

/// What is remembered of a lessened code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArwaOldCode {
    /// The lessened code.
    Lessened,
    /// The code before it was lessened.
    Estimated,
}

/// By how much a code changes a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArwaStep {
    /// By so many percent: 1 to 100 down, or 1 to 20 up for codes of 101 to 120.
    Percent,
    /// By as many bytes as the code says.
    Bytes,
}

/// Which codes a sender obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArwaObeys {
    /// Each.
    Each,
    /// Those that say something else than the one before.
    Changes,
}

/// What becomes of slow start when a code reduces the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArwaSlowStart {
    /// It goes on.
    GoesOn,
    /// It is over: the reduced window is the threshold.
    Ends,
}

/// A window of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedWindow {
    /// Its size.
    pub size: Size,
}

/// A window that grows with the flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutotunedWindow {
    /// Memory of its buffer at the start, as the second value of Linux's `tcp_rmem`; about half to
    /// two thirds of it is window.
    pub initial: Size,
    /// Memory of its buffer at most, as the third value of `tcp_rmem`.
    pub max: Size,
}
