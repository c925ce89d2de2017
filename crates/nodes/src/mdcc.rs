//! MD-CC in the kernel of a server: a congestion control in BPF, and the agent that hands it what PEPs say.
//!
//! `bpf/` has the program, whose law is the simulator's ([`airlane_transport::congestion::Mdcc`]) in integers.
//! The agent receives messages ([`crate::reports`]) and writes the latest of each connection into a map. The program
//! reads it at the next acknowledgment of the client.

mod kernel;
#[cfg(all(test, feature = "bpf"))]
mod parity;
mod settings;
#[cfg_attr(not(any(test, feature = "bpf")), expect(dead_code, reason = "for the agent"))]
mod shared;

#[cfg(feature = "bpf")]
mod agent;

use std::path::{Path, PathBuf};

use airlane_settings::{SettingsError, from_toml};
use ipnet::IpNet;

use self::settings::Settings;
use crate::{Common, Node, NodeError, Requirement, Running, Serving, Setup, rights};

/// The agent with its congestion control.
struct Mdcc {
    settings: Settings,
    #[cfg(feature = "bpf")]
    opened: Option<agent::Opened>,
}

/// Reads the settings.
pub(crate) fn read(text: &str, file: &str) -> Result<Box<dyn Node>, SettingsError> {
    let mut settings: Settings = from_toml(text, file, &settings::defaults(), Settings::check)?;
    let folder: PathBuf = Path::new(file).parent().unwrap_or(Path::new("")).into();
    settings.secret = folder.join(&settings.secret);
    Ok(Box::new(Mdcc {
        settings,
        #[cfg(feature = "bpf")]
        opened: None,
    }))
}

impl Node for Mdcc {
    fn common(&self) -> &Common {
        &self.settings.node
    }

    fn requirements(&self) -> Vec<Requirement> {
        let mut all = kernel::requirements();
        if let Some(name) = &self.settings.user {
            let help = "useradd --system --no-create-home NAME";
            all.push(Requirement::tried(format!("user {name}"), rights::user(name).map(drop), help));
        }
        all.push(self.settings.reception().requirement());
        all
    }

    /// New connections to the clients have the congestion control by their routes.
    fn setup(&self) -> Setup {
        let routes = self.settings.clients.iter().map(|network| route(&network.0)).collect();
        Setup { routes, ..Setup::default() }
    }

    #[cfg(feature = "bpf")]
    fn prepare(&mut self) -> Result<(), NodeError> {
        self.opened = Some(agent::Opened::open(&self.settings)?);
        Ok(())
    }

    #[cfg(not(feature = "bpf"))]
    fn prepare(&mut self) -> Result<(), NodeError> {
        let help = "install libelf-dev and zlib1g-dev, and build airlane again: make build";
        Err(NodeError::new("this build of airlane cannot load programs into the kernel", help))
    }

    fn serve(self: Box<Self>, running: Running) -> Serving {
        #[cfg(feature = "bpf")]
        let serving = Box::pin(async move {
            agent::serve(self.opened.expect("`prepare` was called"), &self.settings, running).await
        });
        #[cfg(not(feature = "bpf"))]
        let serving = Box::pin(async move {
            drop(running);
            unreachable!("`prepare` has failed")
        });
        serving
    }
}

/// The current route to a network, with another congestion control. The kernel has to have the congestion control when
/// the route is set.
fn route(network: &IpNet) -> (String, String) {
    let network = network.trunc();
    // The address of a network may belong to no host.
    let host = network.hosts().next().unwrap_or(network.addr());
    let way = format!(
        "$(ip -o route get {host} | sed -E 's/ (uid|cache|metric|pref|\\\\).*//; s/^[^ ]+ (from [^ ]+ )?//')"
    );
    (format!("route replace {network} {way} congctl mdcc"), format!("route del {network} congctl mdcc"))
}
