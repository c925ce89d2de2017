//! A file server over HTTP/3 (quinn, h3) with the congestion controllers and loss discriminators of the simulator. It
//! is announced to browsers over HTTP/1.1 with TLS.

mod amplification;
mod answer;
mod body;
mod files;
mod http3;
mod lines;
mod metrics;
mod radio;
mod reports;
mod settings;
mod streams;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use airlane_settings::SettingsError;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, header};
use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, TokioRuntime};

use crate::http1::{self, Server};
use crate::places::Places;
use crate::secrets;
use crate::{Common, Node, NodeError, Requirement, Running, Serving, Setup};
use amplification::{Addresses, Limited};
use files::Root;
use http3::Http3;
use lines::Lines;
use metrics::Metrics;
use radio::Radio;
use reports::{Naming, Reported};
use settings::Settings;

/// The node.
#[derive(Debug)]
struct QuicServer {
    settings: Settings,
}

/// Reads the settings of a node.
///
/// # Errors
/// If they are wrong.
pub(crate) fn read(text: &str, file: &str) -> Result<Box<dyn Node>, SettingsError> {
    Ok(Box::new(QuicServer { settings: settings::read(text, file)? }))
}

impl Node for QuicServer {
    fn common(&self) -> &Common {
        &self.settings.node
    }

    fn requirements(&self) -> Vec<Requirement> {
        let Settings { listen, https, root, tls, .. } = &self.settings;
        let choose = "choose a free address of this machine";
        let mut all = vec![
            Requirement::tried(format!("listen = {}", listen.0), UdpSocket::bind(listen.0).map(drop), choose),
            Requirement::tried(
                format!("root = {}", root.display()),
                Root::open(root).map(drop),
                "name a folder that this user may read, on Linux 5.6 or later",
            ),
        ];
        if let Some(https) = https {
            all.push(http1::requirement("https", https.0));
        }
        let name = format!("tls = {} and {}", tls.certificate.display(), tls.key.display());
        all.push(match secrets::tls(tls).and_then(|config| http3::config(config).map(drop)) {
            Ok(()) => Requirement::met(name),
            Err(why) => Requirement::missing(name, why),
        });
        if let Some(pep) = &self.settings.pep {
            let name = format!("pep.listen = {}", pep.listen.0);
            all.push(Requirement::tried(name, UdpSocket::bind(pep.listen.0).map(drop), choose));
            all.push(pep.reception().requirement());
        }
        if let Some(rnis) = &self.settings.rnis {
            let name = format!("rnis = {}", rnis.url);
            all.push(match Radio::new(rnis, Default::default()) {
                Ok(_) => Requirement::met(name),
                Err(why) => Requirement::missing(name, why),
            });
        }
        all
    }

    fn setup(&self) -> Setup {
        Setup::default()
    }

    fn serve(self: Box<Self>, running: Running) -> Serving {
        Box::pin(serve(self.settings, running))
    }
}

async fn serve(settings: Settings, running: Running) -> Result<(), NodeError> {
    let wrong = |what: String| NodeError::new(what, "");
    let root = Root::open(&settings.root)
        .map_err(|e| NodeError::new(format!("root = {}: {e}", settings.root.display()), "name a folder"))?;
    let tls = secrets::tls(&settings.tls).map_err(wrong)?;
    let config = http3::config(tls.clone()).map_err(wrong)?;
    let (udp, listener) = listen(&settings).await?;
    let heard = settings.pep.as_ref().map(|pep| pep.reception().open("pep.listen")).transpose()?;
    let own = udp.local_addr().unwrap_or(settings.listen.0);
    let reported = heard.as_ref().map(|heard| Reported::new(heard.secret(), own));
    let metrics = Metrics::default();
    let addresses = Addresses::new(metrics.amplification.clone());
    let endpoint = endpoint(udp, config.clone(), reported.clone(), addresses.clone())
        .map_err(|e| cannot("listen", settings.listen.0, &e))?;
    let lines = Lines::start().map_err(|e| NodeError::new(format!("cannot start a thread: {e}"), ""))?;
    let radio = settings.rnis.as_ref().map(|rnis| Radio::new(rnis, metrics.radio.clone()));
    let radio = radio.transpose().map_err(wrong)?;
    running.register(|registry| metrics.register(registry));
    running.ready();
    tracing::info!(
        listen = %settings.listen.0, root = %settings.root.display(),
        controller = ?settings.congestion.controller,
        discriminator = ?settings.congestion.loss_discriminator, "ready"
    );
    let https = listener.map(|listener| {
        let folder = Folder {
            root: root.clone(),
            metrics: metrics.clone(),
            port: own.port(),
            ranges: settings.limits.ranges,
        };
        let server = over_tcp(folder, tls, &settings, &metrics);
        server.serve(listener, Some(running.clone()))
    });
    let messages = metrics.pep.clone();
    let places = Places::new(settings.limits.count(), metrics.quic.clone());
    let http3 = Arc::new(Http3 {
        settings,
        root,
        metrics,
        reported: reported.clone(),
        lines: lines.clone(),
        radio: radio.clone(),
        running,
        tls: config,
        places,
        addresses,
        handshakes: Arc::default(),
    });
    let https = async {
        if let Some(https) = https {
            https.await;
        }
    };
    let served = async { tokio::join!(http3.serve(endpoint), https) };
    match heard.zip(reported) {
        Some((heard, reported)) => tokio::select! {
            _ = served => {}
            failed = heard.serve(reported, messages) => failed?,
        },
        None => drop(served.await),
    }
    if let Some(radio) = radio {
        radio.end().await;
    }
    lines.end();
    Ok(())
}

fn cannot(key: &str, address: SocketAddr, e: &io::Error) -> NodeError {
    let what = format!("{key} = \"{address}\": cannot listen: {e}");
    NodeError::new(what, "choose a free address of this machine")
}

/// The sockets of HTTP/3 and of HTTP/1.1.
async fn listen(settings: &Settings) -> Result<(UdpSocket, Option<tokio::net::TcpListener>), NodeError> {
    let udp = UdpSocket::bind(settings.listen.0).map_err(|e| cannot("listen", settings.listen.0, &e))?;
    let Some(https) = settings.https else { return Ok((udp, None)) };
    Ok((udp, Some(http1::listen("https", https.0).await?)))
}

/// The server of HTTP/1.1.
fn over_tcp(
    folder: Folder,
    mut tls: tokio_rustls::rustls::ServerConfig,
    settings: &Settings,
    metrics: &Metrics,
) -> Server {
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Server {
        router: Router::new().fallback(by_http1).with_state(Arc::new(folder)),
        tls: Some(Arc::new(tls)),
        bounds: settings.limits.bounds(),
        counters: metrics.https.clone(),
    }
}

/// quinn's endpoint, which sends little to addresses that are not validated, and names its datagrams if PEPs may report them.
fn endpoint(
    udp: UdpSocket,
    config: quinn::ServerConfig,
    reported: Option<Arc<Reported>>,
    addresses: Arc<Addresses>,
) -> io::Result<Endpoint> {
    let socket = TokioRuntime.wrap_udp_socket(udp)?;
    let socket = Arc::new(Limited { socket, addresses });
    let socket: Arc<dyn AsyncUdpSocket> = match reported {
        Some(reported) => Arc::new(Naming { socket, reported }),
        None => socket,
    };
    let (endpoint, runtime) = (EndpointConfig::default(), Arc::new(TokioRuntime));
    Endpoint::new_with_abstract_socket(endpoint, Some(config), socket, runtime)
}

/// The state of HTTP/1.1.
#[derive(Debug)]
struct Folder {
    root: Root,
    metrics: Metrics,
    /// The UDP port of HTTP/3.
    port: u16,
    ranges: u16,
}

/// Answers a request over HTTP/1.1, and announces HTTP/3 (RFC 7838 §3).
async fn by_http1(State(folder): State<Arc<Folder>>, request: Request) -> Response<Body> {
    let answered =
        answer::answer(&folder.root, request.method(), request.uri(), request.headers(), folder.ranges).await;
    folder.metrics.answered("http/1.1", answered.status().as_u16());
    let (mut head, body) = answered.into_parts();
    if let Ok(service) = HeaderValue::try_from(format!("h3=\":{}\"; ma=3600", folder.port)) {
        head.headers.insert(header::ALT_SVC, service);
    }
    Response::from_parts(head, Body::new(body))
}
