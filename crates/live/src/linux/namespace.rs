//! Namespaces: users, mounts, processes and networks of a live run. None of them has a name in a file
//! system, so the kernel removes them with the last process of the run.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use caps::{CapSet, Capability};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getegid, geteuid};

use crate::LiveError;

/// Rights of an unprivileged user's applications within the namespaces.
const OF_APPLICATIONS: [Capability; 4] = [
    Capability::CAP_NET_ADMIN,
    Capability::CAP_NET_BIND_SERVICE,
    Capability::CAP_NET_RAW,
    Capability::CAP_SYS_ADMIN,
];

/// Moves this process into namespaces of its own; its next child is the first process of a PID namespace. The
/// process must have one thread.
///
/// # Errors
/// If the system forbids it. The error names the setting that does.
pub(crate) fn isolate() -> Result<(), LiveError> {
    let own = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNET;
    if geteuid().is_root() && unshare(own).is_ok() {
        return private_mounts();
    }
    let (user, group) = (geteuid(), getegid());
    unshare(own | CloneFlags::CLONE_NEWUSER).map_err(|e| forbidden("cannot create namespaces", e.into()))?;
    let map = |file: &str, text: String| {
        fs::write(file, text).map_err(|e| forbidden(&format!("cannot write {file}"), e))
    };
    map("/proc/self/setgroups", "deny".to_owned())?;
    map("/proc/self/uid_map", format!("{user} {user} 1"))?;
    map("/proc/self/gid_map", format!("{group} {group} 1"))?;
    for capability in OF_APPLICATIONS {
        let raised = caps::raise(None, CapSet::Inheritable, capability)
            .and_then(|()| caps::raise(None, CapSet::Ambient, capability));
        raised
            .map_err(|e| LiveError::new(format!("cannot pass {capability} on to applications: {e}"), ""))?;
    }
    private_mounts()
}

/// Later mounts are not seen outside.
fn private_mounts() -> Result<(), LiveError> {
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
        .map_err(|e| forbidden("cannot make mounts private", e.into()))
}

/// The processes of the PID namespace only, for `ps` and the like. Where the system forbids it, the old list
/// stays.
pub(crate) fn mount_proc() {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let _ = mount(Some("proc"), "/proc", Some("proc"), flags, None::<&str>);
}

/// Puts these names in place of `/etc/hosts`. The file is in memory, and is not seen outside.
///
/// # Errors
/// If it cannot be mounted.
pub(crate) fn mount_hosts(text: &str) -> Result<(), LiveError> {
    // A place for the file system until the file has been mounted where it is read.
    const PLACE: &str = "/tmp";
    const HOSTS: &str = "/etc/hosts";
    let (none, file) = (None::<&str>, format!("{PLACE}/hosts"));
    let failed = |e: io::Error| forbidden(&format!("cannot replace {HOSTS} for the applications"), e);
    if !Path::new(HOSTS).exists() {
        return Err(LiveError::new(format!("there is no {HOSTS}"), "create it; it may be empty"));
    }
    mount(Some("tmpfs"), PLACE, Some("tmpfs"), MsFlags::empty(), none).map_err(|e| failed(e.into()))?;
    let written = fs::write(&file, text).map_err(failed).and_then(|()| {
        mount(Some(file.as_str()), HOSTS, none, MsFlags::MS_BIND, none).map_err(|e| failed(e.into()))
    });
    umount2(PLACE, MntFlags::MNT_DETACH).map_err(|e| failed(e.into()))?;
    written
}

/// A network namespace.
#[derive(Debug)]
pub(crate) struct NetworkNamespace(File);

impl NetworkNamespace {
    /// Creates one. This process is in it.
    ///
    /// # Errors
    /// If the system forbids it.
    pub(crate) fn create() -> Result<Self, LiveError> {
        unshare(CloneFlags::CLONE_NEWNET)
            .map_err(|e| forbidden("cannot create a network namespace", e.into()))?;
        let file = "/proc/thread-self/ns/net";
        Ok(Self(File::open(file).map_err(|e| LiveError::new(format!("cannot open {file}: {e}"), ""))?))
    }

    /// Moves this thread into it.
    ///
    /// # Errors
    /// If the system forbids it.
    pub(crate) fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.0, CloneFlags::CLONE_NEWNET)?)
    }
}

/// Sets a parameter of the network namespace of this thread, as sysctl(8).
///
/// # Errors
/// If there is no such parameter, it has no such value, or it belongs to the host.
pub(crate) fn set_parameter(key: &str, value: &str) -> Result<(), LiveError> {
    let file = format!("/proc/sys/{}", key.replace('.', "/"));
    if !key.starts_with("net.") || key.contains("..") {
        let help = "parameters of a network namespace begin with `net.`";
        return Err(LiveError::new(format!("sysctl {key}: it belongs to the host"), help));
    }
    fs::write(&file, value).map_err(|e| {
        let help = match e.kind() {
            io::ErrorKind::NotFound => "this kernel does not have it in network namespaces",
            io::ErrorKind::InvalidInput => "the kernel does not take this value",
            io::ErrorKind::PermissionDenied => "only the host can change it",
            _ => "",
        };
        LiveError::new(format!("cannot set sysctl {key} to {value:?}: {e}"), help)
    })
}

/// The error, with the setting of the system that is the likely reason.
fn forbidden(what: &str, error: io::Error) -> LiveError {
    let set = |key: &str, to: &str| {
        fs::read_to_string(format!("/proc/sys/{}", key.replace('.', "/"))).is_ok_and(|v| v.trim() == to)
    };
    let help = if set("kernel.unprivileged_userns_clone", "0") {
        "user namespaces are switched off: sysctl kernel.unprivileged_userns_clone=1"
    } else if set("kernel.apparmor_restrict_unprivileged_userns", "1") {
        "AppArmor restricts user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    } else if set("user.max_user_namespaces", "0") {
        "user namespaces are switched off: sysctl user.max_user_namespaces=10000"
    } else {
        "in a container, its seccomp profile may forbid namespaces; with Docker: --security-opt seccomp=unconfined"
    };
    LiveError::new(format!("{what}: {error}"), help)
}
