//! The rights that a node gives up as soon as it has opened the resources that need them.

use caps::CapSet;
use nix::sys::prctl::set_no_new_privs;
use nix::unistd::{Uid, User, geteuid, setgid, setgroups, setuid};

use crate::NodeError;

/// The user of this name.
pub(crate) fn user(name: &str) -> Result<User, String> {
    match User::from_name(name) {
        Ok(Some(user)) => Ok(user),
        Ok(None) => Err("there is no such user".to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

/// Changes to the user, if one is given, and drops all capabilities permanently. Threads that begin later have none
/// either.
pub(crate) fn give_up(name: Option<&str>) -> Result<(), NodeError> {
    let failed = |e: String| NodeError::new(format!("cannot give up rights: {e}"), "");
    if let Some(name) = name {
        let help = "start the node as root, or leave `user` out and start it as this user";
        let failed = |e: String| NodeError::new(format!("user = \"{name}\": {e}"), help);
        let user = user(name).map_err(failed)?;
        if user.uid != geteuid() {
            setgroups(&[]).map_err(|e| failed(e.to_string()))?;
            setgid(user.gid).map_err(|e| failed(e.to_string()))?;
            setuid(user.uid).map_err(|e| failed(e.to_string()))?;
        }
    }
    for set in [CapSet::Ambient, CapSet::Effective, CapSet::Inheritable, CapSet::Permitted] {
        caps::clear(None, set).map_err(|e| failed(e.to_string()))?;
    }
    set_no_new_privs().map_err(|e| failed(e.to_string()))?;
    if geteuid() == Uid::from_raw(0) {
        tracing::warn!("runs as root, without capabilities: give a `user`");
    }
    Ok(())
}
