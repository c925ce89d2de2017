//! Real nodes: programs for a test bed, with sockets and a clock.
//!
//! A node is read from a file of settings ([`read`]). It can say what it needs ([`Node::requirements`]) and
//! which rules and routes lead packets to it ([`Node::setup`]), and it can run ([`run`]).
//!
//! - [`common`] has the settings that all kinds share, [`admin`] the HTTP server for metrics and health.
//! - The protocol logic is in the crates below, without sockets. Here are sockets, time and limits.
//!
//! The crate is empty on other systems than Linux.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_types, reason = "a node has a clock, and nothing here has to repeat")]

pub mod admin;
mod clients;
pub mod common;
mod drwa;
mod error;
mod guarded;
mod http1;
mod logs;
mod mdcc;
mod pep;
mod places;
mod quic_server;
mod reports;
pub mod requirement;
mod rights;
mod rnis;
mod running;
mod secrets;
pub mod setup;
mod split_proxy;

use std::future::Future;
use std::pin::Pin;

use airlane_settings::SettingsError;

pub use common::Common;
pub use error::NodeError;
pub use requirement::Requirement;
pub use running::{Ended, Running, run};
pub use setup::Setup;

/// The work of a node, until its end.
pub type Serving = Pin<Box<dyn Future<Output = Result<(), NodeError>> + Send>>;

/// A node with its settings.
pub trait Node: Send {
    /// The settings that all kinds share.
    fn common(&self) -> &Common;

    /// Rights, functions of the kernel and files that it needs, each with its state on this machine.
    fn requirements(&self) -> Vec<Requirement>;

    /// The rules, routes and parameters of the kernel that it needs. It does not set them itself.
    fn setup(&self) -> Setup;

    /// Opens what needs rights, and gives the rights up. Called once, before there are threads.
    ///
    /// # Errors
    /// If it cannot be opened, or rights cannot be given up.
    fn prepare(&mut self) -> Result<(), NodeError> {
        Ok(())
    }

    /// The number of threads of the runtime that serves it; 0 for one per core. A kind whose workers have runtimes of
    /// their own needs one.
    fn runtime_threads(&self) -> u16 {
        self.common().threads
    }

    /// Serves until [`Running::stopping`] resolves, and then ends what has begun.
    fn serve(self: Box<Self>, running: Running) -> Serving;
}

/// Reads the settings of a node.
type Read = fn(&str, &str) -> Result<Box<dyn Node>, SettingsError>;

/// Each kind of node, with the function that reads its settings.
const KINDS: &[(&str, Read)] = &[
    ("drwa", drwa::read),
    ("mdcc", mdcc::read),
    ("pep", pep::read),
    ("quic-server", quic_server::read),
    ("rnis", rnis::read),
    ("split-proxy", split_proxy::read),
];

/// The names of all kinds.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(name, _)| *name)
}

/// Reads a node of a kind from the text of its file.
///
/// # Errors
/// If the settings are wrong, with file, line, key, value and the correct form.
///
/// # Panics
/// If the kind is none of [`kinds`].
pub fn read(kind: &str, text: &str, file: &str) -> Result<Box<dyn Node>, SettingsError> {
    let (_, read) = KINDS.iter().find(|(name, _)| *name == kind).expect("one of `kinds`");
    read(text, file)
}
