//! The filter in the kernel: which packets a PEP sees, and how many bytes of each. A classic BPF program
//! (Linux, Documentation/networking/filter.rst), for packets that begin with the header of the network layer.

use airlane_live::packet_ring::Instruction;
use airlane_wire::protocol;
use ipnet::IpNet;

use super::settings::{Protocol, Rule};

/// Bytes of a packet: 40 of IPv6 with 52 of extension headers or IPv4 with options, 60 of TCP or 8 of UDP with the 64
/// that identify a datagram. A longer packet counts as incomplete.
pub(super) const SNAP: u32 = 192;
/// `BPF_MAXINSNS` in `linux/bpf_common.h`.
const INSTRUCTIONS_MAX: usize = 4096;

/// `SKF_AD_OFF + SKF_AD_PROTOCOL` (`linux/filter.h`): the type of the network layer.
const ETHER_TYPE: u32 = (-0x1000_i32) as u32;
const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
/// Tags of VLANs that the interface has left in the packet (IEEE 802.1Q, 802.1ad).
pub(super) const VLANS: [u16; 2] = [0x8100, 0x88a8];

const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
/// The instruction that loads the length of the IPv4 header into X.
const LOAD_LENGTH: u16 = 0xb1;
const LOAD_HALF_AT_X: u16 = 0x48;
const AND: u16 = 0x54;
const IF_EQUAL: u16 = 0x15;
const IF_SET: u16 = 0x45;
const RETURN: u16 = 0x06;

/// The program for these rules. None if it would be too long.
pub(super) fn program(rules: &[Rule]) -> Option<Vec<Instruction>> {
    let mut program = vec![Instruction(LOAD_WORD, 0, 0, ETHER_TYPE)];
    for vlan in VLANS {
        program.extend([Instruction(IF_EQUAL, 0, 1, vlan.into()), Instruction(RETURN, 0, 0, SNAP)]);
    }
    for rule in rules {
        for network in &rule.servers {
            for one in &rule.protocols {
                // The client's packets matter only where they can be read.
                let directions = if *one == Protocol::Tcp { 2 } else { 1 };
                for direction in 0..directions {
                    program.extend(block(&network.0, *one, direction, &rule.ports)?);
                }
            }
        }
        if program.len() > INSTRUCTIONS_MAX {
            return None;
        }
    }
    program.push(Instruction(RETURN, 0, 0, 0));
    (program.len() <= INSTRUCTIONS_MAX).then_some(program)
}

/// A test, and where it leads: on to the next one, to the end with the packet, or to the next block.
#[derive(Clone, Copy)]
enum Step {
    Do(u16, u32),
    Require(u32),
    Refuse(u32),
    Accept(u32),
}

/// Accepts packets of one network, protocol and direction (0: from the server); others reach its end.
fn block(network: &IpNet, one: Protocol, direction: u32, ports: &[u16]) -> Option<Vec<Instruction>> {
    use Step::{Accept, Do, Refuse, Require};
    let number = u32::from(if one == Protocol::Tcp { protocol::TCP } else { protocol::UDP });
    let mut steps = vec![Do(LOAD_WORD, ETHER_TYPE)];
    match network {
        IpNet::V4(v4) => {
            let (net, mask) = (u32::from(v4.network()), u32::from(v4.netmask()));
            steps.extend([Require(IPV4), Do(LOAD_BYTE, 9), Require(number)]);
            steps.extend([Do(LOAD_WORD, 12 + 4 * direction), Do(AND, mask), Require(net)]);
            if !ports.is_empty() {
                // A later fragment has no ports.
                steps.extend([Do(LOAD_HALF, 6), Refuse(0x1fff), Do(LOAD_LENGTH, 0)]);
                steps.push(Do(LOAD_HALF_AT_X, 2 * direction));
            }
        }
        IpNet::V6(v6) => {
            steps.push(Require(IPV6));
            let words = |bits: u128| [96, 64, 32, 0].map(|shift| (bits >> shift) as u32);
            let (net, mask) = (words(v6.network().into()), words(v6.netmask().into()));
            for at in (0..4).filter(|at| mask[*at] != 0) {
                steps.push(Do(LOAD_WORD, 8 + 16 * direction + 4 * at as u32));
                steps.extend([Do(AND, mask[at]), Require(net[at])]);
            }
            steps.push(Do(LOAD_BYTE, 6));
            // The node reads the headers behind extension headers.
            let extensions = [
                protocol::HOP_BY_HOP,
                protocol::ROUTING,
                protocol::FRAGMENT,
                protocol::AUTHENTICATION,
                protocol::DESTINATION,
            ];
            steps.extend(extensions.map(|kind| Accept(kind.into())));
            steps.push(Require(number));
            if !ports.is_empty() {
                steps.push(Do(LOAD_HALF, 40 + 2 * direction));
            }
        }
    }
    if let Some((last, others)) = ports.split_last() {
        steps.extend(others.iter().map(|port| Accept(u32::from(*port))));
        steps.push(Require(u32::from(*last)));
    }
    assemble(&steps)
}

/// The instructions of a block, with its acceptance as the last one.
fn assemble(steps: &[Step]) -> Option<Vec<Instruction>> {
    let mut block = vec![];
    for (at, step) in steps.iter().enumerate() {
        let accept = u8::try_from(steps.len() - at - 1).ok()?;
        let refuse = accept.checked_add(1)?;
        block.push(match *step {
            Step::Do(code, value) => Instruction(code, 0, 0, value),
            Step::Require(value) => Instruction(IF_EQUAL, 0, refuse, value),
            Step::Refuse(value) => Instruction(IF_SET, refuse, 0, value),
            Step::Accept(value) => Instruction(IF_EQUAL, accept, 0, value),
        });
    }
    block.push(Instruction(RETURN, 0, 0, SNAP));
    Some(block)
}
