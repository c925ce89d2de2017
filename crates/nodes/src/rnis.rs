//! A radio network information service (ETSI GS MEC 012) over HTTP: queries, and subscriptions with notifications to
//! callbacks or over WebSockets. Its information is that of a scenario which runs at real speed, of a live run, or of
//! the record of one.
//!
//! The paths and bodies are those of V2.1.1, by its OpenAPI; WebSockets, test notifications and the type of expiry
//! notices are of V2.2.1. The subscription to records of a UE's MAC is ours (`docs/radio-information.md`). Members
//! for which the radio model has no value are left out.

mod access;
mod body;
mod callback;
mod delivery;
mod metrics;
mod problem;
mod query;
mod routes;
mod service;
mod settings;
mod source;
mod subscription;

use std::sync::Arc;
use std::time::Duration;

use airlane_settings::SettingsError;
use nix::sys::resource::{Resource, getrlimit};

use crate::admin;
use crate::http1::{self, Server};
use crate::secrets;
use crate::{Common, Node, NodeError, Requirement, Running, Serving, Setup};
use access::Callers;
use callback::Sender;
use delivery::Delivery;
use metrics::Metrics;
use routes::App;
use service::Service;
use settings::Settings;
use source::{SourceMessage, Watched};

/// Files that the process has open in addition to connections and callbacks.
const FILES: u64 = 64;
/// How often the node looks whether its source still reports.
const LOOK: Duration = Duration::from_millis(100);

/// The node.
#[derive(Debug)]
struct Rnis {
    settings: Settings,
}

/// Reads the settings of a node.
///
/// # Errors
/// If they are wrong.
pub(crate) fn read(text: &str, file: &str) -> Result<Box<dyn Node>, SettingsError> {
    Ok(Box::new(Rnis { settings: settings::read(text, file)? }))
}

impl Rnis {
    /// The files that it may have open at a time.
    fn files(&self) -> u64 {
        let Settings { limits, callbacks, .. } = &self.settings;
        let connections = u64::from(limits.connections) + u64::from(admin::CONNECTIONS);
        FILES + connections + u64::from(callbacks.hosts) * u64::from(callbacks.concurrent)
    }
}

/// A requirement that a function checks.
fn tried<T>(name: String, result: Result<T, String>) -> Requirement {
    match result {
        Ok(_) => Requirement::met(name),
        Err(why) => Requirement::missing(name, why),
    }
}

impl Node for Rnis {
    fn common(&self) -> &Common {
        &self.settings.node
    }

    fn requirements(&self) -> Vec<Requirement> {
        let Settings { listen, source, access, tls, callbacks, .. } = &self.settings;
        let mut all = vec![source::requirement(source), http1::requirement("listen", listen.0)];
        if let Some(path) = &access.tokens {
            let read = Callers::read(access).and_then(|callers| match callers.count() {
                0 => Err(format!("{}: it has no token; write one per application", path.display())),
                _ => Ok(()),
            });
            all.push(tried(format!("access.tokens = {}", path.display()), read));
        }
        if let Some(tls) = tls {
            let name = format!("tls = {} and {}", tls.certificate.display(), tls.key.display());
            all.push(tried(name, secrets::tls(tls)));
        }
        if let Some(path) = &callbacks.authorities {
            all.push(tried(format!("callbacks.authorities = {}", path.display()), Sender::new(callbacks)));
        }
        let needed = self.files();
        let has = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(_, hard)| hard);
        let name = format!("{needed} open files");
        all.push(if has >= needed {
            Requirement::met(name)
        } else {
            let help = "LimitNOFILE= in its systemd unit, or lower limits.connections, callbacks.hosts or \
                        callbacks.concurrent";
            Requirement::missing(name, format!("this process may have {has}; {help}"))
        });
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
    raise_files();
    let callers = Callers::read(&settings.access).map_err(wrong)?;
    let tls = settings.tls.as_ref().map(secrets::tls).transpose().map_err(wrong)?.map(Arc::new);
    let listener = http1::listen("listen", settings.listen.0).await?;
    let metrics = Metrics::new();
    let sender = Sender::new(&settings.callbacks).map_err(wrong)?;
    let delivery = Delivery::new(sender, settings.callbacks.clone(), metrics.clone());
    let service = Arc::new(Service::new(&settings, callers, delivery, metrics.clone()));
    let mut messages = source::start(&settings.source)?;
    running.register(|registry| metrics.register(registry));
    let mut watched = Watched::new(&settings.source, metrics.clone(), running.clone());
    running.ready();
    tracing::info!(listen = %settings.listen.0, source = %settings.source.path().display(), "listening");
    let router =
        routes::router(App { service: service.clone(), running: running.clone() }, &settings.api_root);
    let server =
        Server { router, tls, bounds: settings.limits.bounds(), counters: metrics.connections.clone() };
    let served = server.serve(listener, Some(running));
    tokio::pin!(served);
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    let mut looks = tokio::time::interval(LOOK);
    let mut begins_again = true;
    loop {
        tokio::select! {
            () = served.as_mut() => return Ok(()),
            _ = seconds.tick() => service.expire(),
            _ = looks.tick() => watched.look(),
            message = messages.recv(), if begins_again => match message {
                Some(SourceMessage::Report(report)) => {
                    service.learn(report);
                    watched.reported();
                }
                Some(SourceMessage::Begun) => {
                    service.begin();
                    watched.begun();
                }
                Some(SourceMessage::Lost(why)) => watched.lost(why),
                None => begins_again = false,
            },
        }
    }
}

/// Raises the number of files to the most that this process may have.
fn raise_files() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = nix::sys::resource::setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
