//! A middlebox that removes the options of Multipath TCP, as some firewalls do (RFC 8684 §7).

use airlane_core::{Cx, Header, Node, Packet, PacketRef, Port, Role, TcpFlags};

/// The segments that lose their options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stripped {
    /// Those with the flag SYN.
    Syn,
    /// Those with payload.
    Data,
    /// All.
    All,
}

/// Passes packets on, without the options of Multipath TCP.
#[derive(Clone, Debug)]
pub struct OptionFilter {
    stripped: Stripped,
}

impl OptionFilter {
    /// The port of its input, and of its output.
    pub const PORT: Port = 0;

    /// A filter of these segments.
    #[must_use]
    pub const fn new(stripped: Stripped) -> Self {
        Self { stripped }
    }

    fn strips(&self, packet: &Packet) -> bool {
        let Header::Tcp(header) = &packet.header else { return false };
        match self.stripped {
            Stripped::Syn => header.flags.has(TcpFlags::SYN),
            Stripped::Data => !packet.payload.is_empty(),
            Stripped::All => true,
        }
    }
}

impl Node for OptionFilter {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        let within = cx.pool.get_mut(&packet);
        if self.strips(within) {
            within.strip_mptcp();
        }
        cx.send(Self::PORT, packet);
    }

    fn role(&self) -> Role {
        Role::WithoutTimers
    }
}
