//! Applications on transport endpoints, as nodes. Each has one port, [`PORT`]; a server that uses a radio
//! network information service has another port for it, [`INFORMATION`].
//!
//! A [`TcpSource`] opens a connection at its start time and sends; a [`TcpSink`] listens and reads all data
//! immediately. [`UdpSource`] and [`UdpSink`] are the same for datagrams at a constant rate, in the bursts
//! of a Poisson Pareto Burst Process ([`PpbpSender`]), or in periods on and off ([`OnOffSender`]). In these
//! the sender connects, so there is no request message. A [`PingSource`] sends ICMP echo messages to a
//! [`PingResponder`]. A [`CallEnd`] sends and receives real-time media, an [`XrEnd`] the frames of
//! XR, a [`SproutEnd`] as much as the forecasts of Sprout allow. A [`RelayLeg`] is at the server between two UEs. Over QUIC a [`QuicClient`] connects to a [`QuicServer`] and requests its objects.
//!
//! Applications that request objects use [`http`], which has many connections on one flow: a [`Browser`]
//! loads pages, a [`Viewer`] watches videos.

mod browser;
pub mod dialogue;
pub mod dns;
pub mod http;
mod information;
mod modulated;
mod mpquic;
mod mptcp;
mod on_off;
mod packets;
mod page;
mod pep_message;
mod ping;
mod ppbp;
mod quic;
mod quic_host;
mod relay;
mod rtc;
mod sprout;
mod tcp;
mod tcp_host;
mod udp;
mod video;
mod xr;

pub use browser::{Browser, Browsing, Visits};
pub use information::INFORMATION;
pub use modulated::{Activity, ModulatedSender};
pub use mpquic::MpquicEnd;
pub use mptcp::MptcpEnd;
pub use on_off::{OnOff, OnOffSender, Period};
pub use page::{Page, PageObject};
pub use ping::{IdleTimes, PingResponder, PingSource, Pings};
pub use ppbp::{BurstParameters, Bursts, PpbpSender, Reading};
pub use quic::{QuicClient, QuicServer, QuicTransfer};
pub use quic_host::QuicHost;
pub use relay::RelayLeg;
pub use rtc::CallEnd;
pub use sprout::SproutEnd;
pub use tcp::{Pace, TcpSink, TcpSource, Transfer, WRITE, Writes};
pub use tcp_host::{Arrival, TcpHost};
pub use udp::{Datagrams, UdpSink, UdpSource};
pub use video::{
    Adaptation, BolaParameters, GroupLaw, Groups, Media, PageBefore, Playout, PlayoutRules, ProgressiveView,
    ReadLimit, Rule, Segment, SegmentedVideo, SegmentedView, Video, Viewer, Viewing,
};
pub use xr::{FrameLaw, Frames, TruncatedNormal, XrEnd};

/// The port of an endpoint.
pub const PORT: airlane_core::Port = 0;
