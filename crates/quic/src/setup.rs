//! The configuration of an endpoint, in our types and in quinn's.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use airlane_core::{Bytes, Duration, Seeds, SocketPair, Stream};
use airlane_transport::congestion::{
    ControllerSetup, LawParameters, LossDiscrimination, OwnControllers, SlowStartRules,
};
use airlane_transport::{CongestionKind, Path};
use quinn_proto::congestion::ControllerFactory;
use quinn_proto::{
    ClientConfig, EndpointConfig, IdleTimeout, MtuDiscoveryConfig, NoneTokenStore, ServerConfig,
    TransportConfig, ValidationTokenConfig, VarInt,
};

use crate::crypto::{NullCrypto, NullTokenKey};
use crate::identity::Ids;
use crate::pacer::QuicPacing;
use crate::qlog::QlogFiles;
use crate::shared::{Factory, Shared};
use crate::time::span_to_quinn;
use crate::timeouts::QuicTimeouts;
use crate::tls::{self, Secrets};

/// IPv4 and UDP header.
pub(crate) const HEADERS: u16 = 28;

/// The role in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that connects.
    Client,
    /// The end that accepts.
    Server,
}

impl Role {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Packet protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicCrypto {
    /// No cryptography: a handshake with the same messages that authenticates nothing, and clear text.
    Null,
    /// TLS 1.3 (RFC 9001), by rustls.
    Tls,
}

/// The configuration of one endpoint.
#[derive(Clone, Debug)]
pub struct QuicConfig {
    /// The congestion controller.
    pub congestion: CongestionKind,
    /// The factory for [`CongestionKind::Own`].
    pub own: Option<OwnControllers>,
    /// The rule that distinguishes random losses from congestion.
    pub loss_discriminator: LossDiscrimination,
    /// HyStart, for controllers that have it.
    pub hystart: bool,
    /// Parameters of the laws.
    pub laws: LawParameters,
    /// How slow start ends.
    pub slow_start: SlowStartRules,
    /// The effect of silence.
    pub timeouts: QuicTimeouts,
    /// Which pacing applies.
    pub pacing: QuicPacing,
    /// Number of acknowledged packets above a packet that make it lost (RFC 9002 §6.1.1).
    pub packet_threshold: u32,
    /// Time, in round trips, after which a packet with one acknowledged above it is lost, in thousandths (RFC 9002
    /// §6.1.2).
    pub time_threshold_permille: u32,
    /// Number of probe timeouts without an acknowledgment that count as persistent congestion (RFC 9002
    /// §7.6); `None` to disable.
    pub persistent_congestion: Option<u32>,
    /// Initial congestion window in datagrams (RFC 9002 §7.2).
    pub initial_window: u32,
    /// Largest IP packet: the upper limit of MTU discovery.
    pub mtu: u16,
    /// Largest IP packet before MTU discovery, at least 1228 bytes.
    pub initial_mtu: u16,
    /// Path MTU discovery (RFC 9000 §14.3).
    pub mtu_discovery: bool,
    /// Flow-control credit of a stream (RFC 9000 §4.1).
    pub stream_receive_window: Bytes,
    /// Flow-control credit of the connection; `None` for no limit.
    pub receive_window: Option<Bytes>,
    /// Maximum number of unacknowledged bytes at the sender, in addition to the windows.
    pub send_window: Bytes,
    /// Round-trip time before the first sample (RFC 9002 §6.2.2).
    pub initial_rtt: Duration,
    /// Idle time after which a connection is given up (RFC 9000 §10.1); `None` for never.
    pub idle_timeout: Option<Duration>,
    /// Explicit congestion notification (RFC 9000 §13.4).
    pub ecn: bool,
    /// Packet protection.
    pub crypto: QuicCrypto,
    /// The application protocol that a TLS handshake negotiates (RFC 7301).
    pub application: &'static str,
    /// True for the end that sends the flow's data. It reports its round trips, losses and window to observers,
    /// and it has the user's own controller. The requests of the other end use CUBIC then.
    pub sends_data: bool,
    /// The source of random streams: `flow/<number>/quic/…` and `flow/<number>/congestion`, with server and
    /// port after the number if a flow has many connections.
    pub seeds: Seeds,
    /// The name of the flow and its qlog files, if qlog is enabled.
    pub qlog: Option<(String, Arc<QlogFiles>)>,
}

impl QuicConfig {
    /// The upper bound of the search for the path MTU, as the payload of a datagram; zero without a search.
    pub(crate) const fn searched_mtu(&self) -> u16 {
        if self.mtu_discovery { self.mtu - HEADERS } else { 0 }
    }

    /// The setup of the controller. quinn paces always.
    pub(crate) const fn controller(&self) -> ControllerSetup<'_> {
        ControllerSetup {
            kind: match self.congestion {
                CongestionKind::Own if !self.sends_data => CongestionKind::Cubic,
                kind => kind,
            },
            own: self.own.as_ref(),
            discriminator: self.loss_discriminator,
            slow_start: self.slow_start,
            hystart: self.hystart,
            laws: self.laws,
            codes: None, // an option of TCP
            paced: true,
        }
    }

    /// The defaults of quinn 0.11, with CUBIC.
    #[must_use]
    pub const fn quinn(seeds: Seeds) -> Self {
        Self {
            congestion: CongestionKind::Cubic,
            own: None,
            loss_discriminator: LossDiscrimination::None,
            hystart: true,
            laws: LawParameters::DEFAULT,
            slow_start: SlowStartRules::LAW,
            timeouts: QuicTimeouts::Probe,
            pacing: QuicPacing::Quinn,
            packet_threshold: 3,            // RFC 9002 §6.1.1
            time_threshold_permille: 1_125, // RFC 9002 §6.1.2: 9/8
            persistent_congestion: Some(3), // RFC 9002 §7.6.1
            initial_window: 10,
            mtu: 1480,
            initial_mtu: 1228,
            mtu_discovery: true,
            stream_receive_window: Bytes(1_250_000),
            receive_window: None,
            send_window: Bytes(10_000_000),
            initial_rtt: Duration::from_millis(333), // RFC 9002 §6.2.2
            idle_timeout: Some(Duration::from_secs(30)), // RFC 9308 §3.2
            ecn: true,
            crypto: QuicCrypto::Null,
            application: "airlane",
            sends_data: true,
            seeds,
            qlog: None,
        }
    }
}

/// Addresses of the ends for quinn; packets are routed by flow.
pub(crate) fn address(role: Role) -> SocketAddr {
    match role {
        Role::Server => (Ipv4Addr::new(10, 0, 0, 1), 443).into(),
        Role::Client => (Ipv4Addr::new(10, 1, 0, 1), 50_000).into(),
    }
}

/// The prefix of a connection's random streams: its flow, and its number if the flow has many.
pub(crate) fn place(path: &Path) -> String {
    let own = number(path).map_or_else(String::new, |number| format!("/{number}"));
    format!("flow/{}{own}", path.flow.0)
}

/// The number of a connection within its flow; `None` if the flow has only one.
fn number(path: &Path) -> Option<String> {
    let SocketPair { server, ue_port, .. } = path.sockets;
    (path.sockets != SocketPair::default()).then(|| format!("{server}-{ue_port}"))
}

/// The configuration of an endpoint at run time.
pub(crate) struct Setup {
    pub(crate) config: QuicConfig,
    pub(crate) role: Role,
    path: Path,
    ids: Ids,
    pub(crate) sender: Shared,
    /// Number of streams whose application has data for which there is no room.
    pub(crate) waiting_streams: Arc<AtomicU32>,
    /// True if datagrams are sent with ECT(1).
    pub(crate) scalable: bool,
    /// The secrets of a server's handshakes.
    pub(crate) secrets: Arc<Secrets>,
}

impl Setup {
    pub(crate) fn new(config: QuicConfig, path: Path, role: Role) -> Self {
        let place = place(&path);
        let stream = config.seeds.stream(&format!("{place}/congestion"));
        let waiting_streams = Arc::<AtomicU32>::default();
        let sender = Shared::new(&config, config.initial_mtu - HEADERS, stream, Arc::clone(&waiting_streams));
        let ids = Ids::new(config.seeds.stream(&format!("{place}/quic/{}/ids", role.name())));
        let scalable = sender.lock().is_scalable();
        Self { config, role, path, ids, sender, waiting_streams, scalable, secrets: Arc::default() }
    }

    /// The stream of this end of the flow.
    fn stream(&self, what: &str) -> Stream {
        let (place, end) = (place(&self.path), self.role.name());
        self.config.seeds.stream(&format!("{place}/quic/{end}/{what}"))
    }

    pub(crate) fn endpoint(&self) -> quinn_proto::Endpoint {
        let key = self.stream("token").bits();
        let mut config = EndpointConfig::new(Arc::new(NullTokenKey(key)));
        let ids = self.ids.clone();
        let mut seed = [0; 32];
        let mut draws = self.stream("quinn");
        seed.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&draws.bits().to_be_bytes()));
        config.cid_generator(move || Box::new(ids.clone())).rng_seed(Some(seed));
        // A sender that uses a PEP identifies its messages by the bit that RFC 9287 would randomize.
        config.grease_quic_bit(self.config.congestion != CongestionKind::Mdcc);
        let payload = self.config.mtu - HEADERS;
        config.max_udp_payload_size(payload).expect("an MTU is at least 1228 bytes");
        let server = (self.role == Role::Server).then(|| Arc::new(self.server(None)));
        quinn_proto::Endpoint::new(Arc::new(config), server, true, None)
    }

    /// A server's settings, for a connection that begins now if `transport` is given.
    fn server(&self, transport: Option<TransportConfig>) -> ServerConfig {
        let token = Arc::new(NullTokenKey(0));
        let (crypto, application) = (self.config.crypto, self.config.application);
        let crypto: Arc<dyn quinn_proto::crypto::ServerConfig> = match crypto {
            QuicCrypto::Null => Arc::new(NullCrypto),
            QuicCrypto::Tls => tls::server(application, self.stream("tls"), Arc::clone(&self.secrets)),
        };
        let crypto = match self.sender.lock().reader() {
            Some(reader) => reader.server(crypto),
            None => crypto,
        };
        let mut config = ServerConfig::new(crypto, token);
        let mut validation = ValidationTokenConfig::default();
        validation.sent(0); // no client returns with a token
        config.validation_token_config(validation).migration(false);
        if let Some(transport) = transport {
            config.transport_config(Arc::new(transport));
        }
        config
    }

    /// A server's settings for a connection that begins now.
    pub(crate) fn accept(&self) -> Arc<ServerConfig> {
        Arc::new(self.server(Some(self.transport())))
    }

    /// A client's settings for a connection that begins now.
    pub(crate) fn connect(&self) -> ClientConfig {
        let ids = self.ids.clone();
        let crypto: Arc<dyn quinn_proto::crypto::ClientConfig> = match self.config.crypto {
            QuicCrypto::Null => Arc::new(NullCrypto),
            QuicCrypto::Tls => tls::client(self.config.application, self.stream("tls")),
        };
        let crypto = match self.sender.lock().reader() {
            Some(reader) => reader.client(crypto),
            None => crypto,
        };
        let mut config = ClientConfig::new(crypto);
        config
            .transport_config(Arc::new(self.transport()))
            .token_store(Arc::new(NoneTokenStore))
            .initial_dst_cid_provider(Arc::new(move || ids.next()));
        config
    }

    fn transport(&self) -> TransportConfig {
        let t = transport(&self.config, Arc::new(Factory(self.sender.clone())));
        #[cfg(not(target_family = "wasm"))]
        let t = self.logged(t);
        t
    }

    #[cfg(not(target_family = "wasm"))]
    fn logged(&self, mut t: TransportConfig) -> TransportConfig {
        if let Some((name, files)) = &self.config.qlog {
            let own = number(&self.path).map_or_else(String::new, |number| format!(".{number}"));
            t.qlog_stream(files.stream(&format!("{name}{own}.{}", self.role.name())));
        }
        t
    }
}

/// quinn's configuration of a connection, with senders of this factory.
#[must_use]
pub fn transport(c: &QuicConfig, factory: Arc<dyn ControllerFactory + Send + Sync>) -> TransportConfig {
    let mut t = TransportConfig::default();
    let var = |n: u64| VarInt::from_u64(n).unwrap_or(VarInt::MAX);
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(c.searched_mtu());
    let idle = c.idle_timeout.map(|span| IdleTimeout::from(var(span.as_millis().max(1))));
    t.max_idle_timeout(idle)
        .stream_receive_window(var(c.stream_receive_window.get()))
        .receive_window(c.receive_window.map_or(VarInt::MAX, |size| var(size.get())))
        .send_window(c.send_window.get())
        .initial_rtt(span_to_quinn(c.initial_rtt))
        .initial_mtu(c.initial_mtu - HEADERS)
        .mtu_discovery_config(c.mtu_discovery.then_some(discovery))
        .datagram_receive_buffer_size(None)
        .packet_threshold(c.packet_threshold)
        .time_threshold(c.time_threshold_permille as f32 / 1e3)
        .persistent_congestion_threshold(c.persistent_congestion.unwrap_or(u32::MAX))
        .congestion_controller_factory(factory)
        // With segmentation offload, quinn announces all datagrams of a batch as one, which is then never acknowledged.
        .enable_segmentation_offload(false);
    t
}
