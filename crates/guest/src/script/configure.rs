//! The configuration of a guest by a script: parameters and the route to the peer.

use airlane_packetdrill::Settings;

use super::stack::GuestStack;
use crate::protocol::call::Outcome;

/// Parameters that a kernel may lack without an effect on scripts: cookies are for a host with too many requests.
const ABSENT: [&str; 1] = ["tcp_syncookies"];
/// Attributes of a route with a number, and their kinds (`linux/rtnetlink.h`, `RTAX_…`).
const METRICS: [(&str, u16); 6] =
    [("mtu", 2), ("advmss", 8), ("initcwnd", 11), ("features", 12), ("initrwnd", 14), ("quickack", 15)];
/// The attribute of the congestion control.
const CC_ALGO: u16 = 16;
/// Attributes of a route (`RTA_…`).
const RTA_OIF: u16 = 4;
const RTA_METRICS: u16 = 8;

/// Network namespaces of the guest: the one of the host, and the first one, which has the parameters that all
/// namespaces share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Namespaces {
    own: i64,
    first: i64,
}

impl GuestStack {
    /// Sets what has changed.
    pub(super) fn configure(&mut self, settings: &Settings) -> Result<(), String> {
        let before = core::mem::replace(&mut self.applied, settings.clone());
        for (name, value) in &settings.sysctl {
            if before.sysctl.get(name) != Some(value) {
                self.set_parameter(name, value)?;
            }
        }
        if before.route != settings.route {
            self.set_route(settings)?;
        }
        if before.paces == settings.paces {
            return Ok(());
        }
        let message = queue_message(if settings.paces { "fq" } else { "pfifo" }, self.interface()?);
        self.netlink(&message, "a queue")
    }

    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), String> {
        let base = if name.contains('.') { "" } else { "net/ipv4/" };
        let path = format!("/proc/sys/{base}{}", name.replace('.', "/"));
        let mut error = self.write_file(&path, value)?;
        if error == libc::ENOENT {
            let namespaces = self.namespaces()?;
            let enter = |at| [at, i64::from(libc::CLONE_NEWNET), 0, 0, 0, 0];
            self.must(libc::SYS_setns, enter(namespaces.first), &[])?;
            error = self.write_file(&path, value)?;
            self.must(libc::SYS_setns, enter(namespaces.own), &[])?;
        }
        match error {
            0 => Ok(()),
            libc::ENOENT if ABSENT.contains(&name) => Ok(()),
            libc::ENOENT => Err(format!("sysctl {name}, which the guest kernel does not have")),
            error => Err(format!(
                "sysctl {name}={value}, which the guest kernel refuses ({})",
                super::names::error(error)
            )),
        }
    }

    fn namespaces(&mut self) -> Result<Namespaces, String> {
        if let Some(known) = self.namespaces {
            return Ok(known);
        }
        let own = self.open_file("/proc/self/ns/net", libc::O_RDONLY)?.result;
        let first = self.open_file("/proc/1/ns/net", libc::O_RDONLY)?.result;
        Ok(*self.namespaces.insert(Namespaces { own, first }))
    }

    fn open_file(&mut self, path: &str, flags: i32) -> Result<Outcome, String> {
        let mut data = path.as_bytes().to_vec();
        data.push(0);
        let flags = i64::from(flags | libc::O_CLOEXEC);
        self.made(libc::SYS_open, [self.area(), flags, 0, 0, 0, 0], &data)
    }

    /// Writes to a file; the error (errno), or 0.
    fn write_file(&mut self, path: &str, text: &str) -> Result<i32, String> {
        let file = self.open_file(path, libc::O_WRONLY)?;
        if file.result < 0 {
            return Ok(file.error);
        }
        let (area, length) = (self.area(), text.len() as i64);
        let written = self.made(libc::SYS_write, [file.result, area, length, 0, 0, 0], text.as_bytes())?;
        self.must(libc::SYS_close, [file.result, 0, 0, 0, 0, 0], &[])?;
        Ok(written.error)
    }

    /// Replaces the route to everywhere by one with the attributes of the script.
    fn set_route(&mut self, settings: &Settings) -> Result<(), String> {
        let mut metrics = Vec::new();
        for (name, value) in &settings.route {
            if name == "congctl" {
                attribute(&mut metrics, CC_ALGO, &[value.as_bytes(), &[0]].concat());
                continue;
            }
            let kind = METRICS.iter().find(|(known, _)| known == name).map(|(_, kind)| *kind);
            let (Some(kind), Ok(number)) = (kind, value.parse::<u32>()) else {
                return Err(format!("the attribute {name:?} of a route with the value {value:?}"));
            };
            attribute(&mut metrics, kind, &number.to_ne_bytes());
        }
        let message = route_message(&metrics, self.interface()?);
        self.netlink(&message, "a route")
    }

    /// Sends a message about the network (rtnetlink(7)), which must not fail.
    fn netlink(&mut self, message: &[u8], what: &str) -> Result<(), String> {
        let socket = [i64::from(libc::AF_NETLINK), i64::from(libc::SOCK_RAW), 0, 0, 0, 0];
        let link = self.must(libc::SYS_socket, socket, &[])?.result;
        let (area, length) = (self.area(), message.len() as i64);
        self.must(libc::SYS_sendto, [link, area, length, 0, 0, 0], message)?;
        let answer = self.must(libc::SYS_recvfrom, [link, area, 64, 0, 0, 0], &[0; 64])?;
        self.must(libc::SYS_close, [link, 0, 0, 0, 0, 0], &[])?;
        // The header of 16 bytes, then the error of `struct nlmsgerr`.
        let error = answer.data.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
        match error {
            Some(0) => Ok(()),
            error => {
                let error = super::names::error(-error.unwrap_or_default());
                Err(format!("{what} that the guest kernel refuses ({error})"))
            }
        }
    }

    /// The index of the network interface, once it was asked for.
    pub(super) fn interface(&mut self) -> Result<u32, String> {
        if let Some(known) = self.interface {
            return Ok(known);
        }
        let socket = [i64::from(libc::AF_INET), i64::from(libc::SOCK_DGRAM), 0, 0, 0, 0];
        let link = self.must(libc::SYS_socket, socket, &[])?.result;
        let mut request = b"eth1".to_vec(); // struct ifreq
        request.resize(40, 0);
        let asked = [link, libc::SIOCGIFINDEX as i64, self.area(), 0, 0, 0];
        let answer = self.must(libc::SYS_ioctl, asked, &request)?;
        self.must(libc::SYS_close, [link, 0, 0, 0, 0, 0], &[])?;
        let index = answer.data.get(16..20).and_then(|bytes| bytes.try_into().ok());
        let index = u32::from_ne_bytes(index.ok_or("the guest's network interface")?);
        Ok(*self.interface.insert(index))
    }
}

/// Adds an attribute (`struct rtattr`).
fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
    to.extend_from_slice(&kind.to_ne_bytes());
    to.extend_from_slice(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// The message that replaces the route to everywhere (`struct nlmsghdr`, `struct rtmsg`).
fn route_message(metrics: &[u8], interface: u32) -> Vec<u8> {
    const RTM_NEWROUTE: u16 = 24;
    const RTPROT_BOOT: u8 = 3;
    let mut attributes = Vec::new();
    attribute(&mut attributes, RTA_OIF, &interface.to_ne_bytes());
    attribute(&mut attributes, RTA_METRICS, metrics);
    let (table, scope, unicast) = (libc::RT_TABLE_MAIN, libc::RT_SCOPE_LINK, libc::RTN_UNICAST);
    let head = [libc::AF_INET as u8, 0, 0, 0, table, RTPROT_BOOT, scope, unicast, 0, 0, 0, 0];
    replacement(RTM_NEWROUTE, &head, &attributes)
}

/// The message that replaces the queue of an interface (`struct tcmsg`).
fn queue_message(kind: &str, interface: u32) -> Vec<u8> {
    const RTM_NEWQDISC: u16 = 36;
    const TCA_KIND: u16 = 1;
    const ROOT: u32 = 0xffff_ffff;
    let mut attributes = Vec::new();
    attribute(&mut attributes, TCA_KIND, &[kind.as_bytes(), &[0]].concat());
    let head = [0, interface, 0, ROOT, 0].map(u32::to_ne_bytes).concat();
    replacement(RTM_NEWQDISC, &head, &attributes)
}

/// A message that creates or replaces something (`struct nlmsghdr`).
fn replacement(kind: u16, head: &[u8], attributes: &[u8]) -> Vec<u8> {
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_REPLACE | libc::NLM_F_CREATE;
    let mut message = (16 + head.len() as u32 + attributes.len() as u32).to_ne_bytes().to_vec();
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&(flags as u16).to_ne_bytes());
    message.extend_from_slice(&[0; 8]); // number and port
    message.extend_from_slice(head);
    message.extend_from_slice(attributes);
    message
}
