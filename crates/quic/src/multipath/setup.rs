//! The configuration of an endpoint with several paths, in our types and in noq's.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use airlane_core::{Duration, Port, SocketPair};
use airlane_transport::mptcp::PathNotice;
use noq_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, Endpoint, EndpointConfig, FourTuple, IdleTimeout,
    MtuDiscoveryConfig, NoneTokenStore, ServerConfig, TransportConfig, ValidationTokenConfig, VarInt,
};

use super::crypto::{ClearText, TokenKey};
use super::scheduler::MultipathScheduler;
use super::sender::Factory;
use crate::identity::{ID_LENGTH, Ids};
use crate::setup::HEADERS;
use crate::time::span_to_quinn;
use crate::{QuicConfig, Role};

/// Where a path goes, as both ends know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSetup {
    /// The sockets of its datagrams.
    pub sockets: SocketPair,
    /// The port of the node that leads to it.
    pub port: Port,
    /// Whether the client's access is there at the beginning.
    pub present: bool,
    /// It sends data only if no other path can (draft-ietf-quic-multipath-21 §3.3, PATH_STATUS_BACKUP).
    pub backup: bool,
}

/// The configuration of both ends.
#[derive(Clone, Debug)]
pub struct MultipathConfig {
    /// QUIC of the connection; the controller is that of each path.
    pub quic: QuicConfig,
    /// The paths; the connection begins on the first.
    pub paths: Vec<PathSetup>,
    /// Which path sends the next datagram.
    pub scheduler: MultipathScheduler,
    /// The time without a packet of the peer after which a path is given up; `None` for never.
    pub path_idle_timeout: Option<Duration>,
    /// The notices that the client's host gets of its accesses, by time; none at the server.
    pub notices: Vec<PathNotice>,
}

/// A keep-alive leaves on a path that is silent for this part of its idle timeout: 5 s of 15 s, as iroh has them
/// (`PATH_MAX_IDLE_TIMEOUT` and `HEARTBEAT_INTERVAL` of `iroh/src/socket.rs`, commit 00ee5b5a).
const KEEP_ALIVES: u64 = 3;

impl MultipathConfig {
    /// The time without a datagram on a path after which an end sends a keep-alive.
    pub(super) fn keep_alive(&self) -> Option<Duration> {
        self.path_idle_timeout.map(|span| span / KEEP_ALIVES)
    }
}

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.draw())
    }
    fn cid_len(&self) -> usize {
        ID_LENGTH
    }
    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// The server's address; packets are routed by flow and port.
pub(super) const SERVER: SocketAddr = SocketAddr::new(SERVER_IP, 443);
const SERVER_IP: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

/// The client's address on a path.
pub(super) fn client_ip(place: usize) -> IpAddr {
    Ipv4Addr::new(10, 1, 0, u8::try_from(1 + place).expect("few paths")).into()
}

/// A path as an end sees it.
pub(super) fn network_path(role: Role, place: usize) -> FourTuple {
    match role {
        Role::Client => FourTuple::new(SERVER, Some(client_ip(place))),
        Role::Server => FourTuple::new((client_ip(place), 50_000).into(), Some(SERVER_IP)),
    }
}

/// Makes noq's configurations.
pub(super) struct Setup<'a> {
    pub(super) config: &'a MultipathConfig,
    pub(super) role: Role,
    /// The prefix of the connection's random streams.
    pub(super) place: &'a str,
    pub(super) ids: Ids,
    pub(super) waiting: Arc<AtomicU32>,
}

impl Setup<'_> {
    fn draws(&self, what: &str) -> airlane_core::Stream {
        self.config.quic.seeds.stream(&format!("{}/quic/{}/{what}", self.place, self.role.name()))
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        let mut config = EndpointConfig::new(Arc::new(TokenKey(self.draws("token").bits())));
        let ids = self.ids.clone();
        let (mut seed, mut draws) = ([0; 32], self.draws("noq"));
        seed.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&draws.bits().to_be_bytes()));
        config.cid_generator(Arc::new(move || Box::new(ids.clone()))).rng_seed(Some(seed));
        let payload = self.config.quic.mtu - HEADERS;
        config.max_udp_payload_size(payload).expect("an MTU is at least 1228 bytes");
        let server = (self.role == Role::Server).then(|| self.server());
        Endpoint::new(Arc::new(config), server, true)
    }

    /// A server's settings for a connection that begins now.
    pub(super) fn server(&self) -> Arc<ServerConfig> {
        let mut config = ServerConfig::new(Arc::new(ClearText), Arc::new(TokenKey(0)));
        let mut validation = ValidationTokenConfig::default();
        validation.sent(0); // no client returns with a token
        config.validation_token_config(validation).migration(false);
        config.transport_config(Arc::new(self.transport()));
        Arc::new(config)
    }

    /// A client's settings for a connection that begins now.
    pub(super) fn client(&self) -> ClientConfig {
        let ids = self.ids.clone();
        let mut config = ClientConfig::new(Arc::new(ClearText));
        config
            .transport_config(Arc::new(self.transport()))
            .token_store(Arc::new(NoneTokenStore))
            .initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&ids.draw())));
        config
    }

    fn transport(&self) -> TransportConfig {
        let (c, paths) = (&self.config.quic, self.config.paths.len() as u32);
        let factory = Factory::new(c.clone(), self.place.to_owned(), Arc::clone(&self.waiting));
        let var = |n: u64| VarInt::from_u64(n).unwrap_or(VarInt::MAX);
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(c.searched_mtu());
        let idle = c.idle_timeout.map(|span| IdleTimeout::from(var(span.as_millis().max(1))));
        let mut t = TransportConfig::default();
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
            .congestion_controller_factory(Arc::new(factory))
            // One more than there are: a path may be opened again before its end is acknowledged.
            .max_concurrent_multipath_paths(paths + 1)
            .default_path_max_idle_timeout(self.config.path_idle_timeout.map(span_to_quinn))
            .enable_segmentation_offload(false);
        t
    }
}
