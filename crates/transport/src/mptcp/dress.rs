//! The options and windows of the segments that subflows send.

use airlane_core::{Bytes, DataMapping, Header, MptcpOption, Packet, TcpFlags};

use super::connection::MptcpConnection;
use super::keys;

/// Bytes of options that a TCP header has room for.
const OPTIONS_MAX: u32 = 40;

impl MptcpConnection {
    /// Completes a segment of a subflow. Returns true if it was sent before.
    pub(super) fn dress(&mut self, index: usize, packet: &mut Packet) -> bool {
        let Header::Tcp(header) = &mut packet.header else { return false };
        let (flags, length) = (header.flags, packet.payload.len());
        let Some(subflow) = &mut self.subflows[index] else { return false };
        let (offset, is_syn) = (subflow.endpoint.offset_sent(header), flags.has(TcpFlags::SYN));
        let again = subflow.note_sent(offset + u64::from(length), is_syn);
        let scale = if is_syn { 0 } else { subflow.endpoint.window_scales()[0] };
        let again = again && (length > 0 || is_syn);
        if flags.has(TcpFlags::RST) {
            if let Some(option) = self.pending {
                packet.size += Bytes(u64::from(option.padded_len()));
                packet.set_mptcp(option);
            }
            return false;
        }
        if self.plain && index == 0 {
            header.window = (self.incoming.offer() >> scale).min(65_535) as u16;
            return again;
        }
        let Some(option) = self.option(index, flags, (offset, length)) else { return again };
        let window = self.incoming.offer();
        header.window = (window >> scale).min(65_535) as u16;
        let mut room = OPTIONS_MAX - option.padded_len();
        room -= if header.timestamps.is_some() { 12 } else { 0 };
        header.sack.truncate((room.saturating_sub(4) / 8) as usize); // RFC 2018 §3, with two NOPs
        let size = 20 + header.wire_len() + option.padded_len() + length; // with the header of IPv4
        packet.size = Bytes(u64::from(size));
        packet.set_mptcp(option);
        again
    }

    /// The option of a segment.
    fn option(&self, index: usize, flags: TcpFlags, (offset, length): (u64, u32)) -> Option<MptcpOption> {
        let subflow = self.subflows[index].as_ref()?;
        let (is_first, is_ack) = (index == 0 && !subflow.joins, flags.has(TcpFlags::ACK));
        if flags.has(TcpFlags::SYN) {
            return if is_first { Some(self.capable_syn(is_ack)) } else { self.join_syn(index, is_ack) };
        }
        let keys = [self.key, self.peer_key?];
        if subflow.refused {
            return None;
        }
        if let Some(option) = self.pending.filter(|_| length == 0) {
            return Some(option);
        }
        let confirms = !subflow.confirmed && self.opens(index);
        if confirms && length == 0 {
            return Some(match is_first {
                true => MptcpOption::CapableAck(keys),
                false => MptcpOption::JoinAck(keys::most_160(keys::join_hmac(keys, subflow.nonces))),
            });
        }
        if confirms && is_first && offset == 0 {
            return Some(MptcpOption::CapableData(keys, length as u16));
        }
        let data_ack = self.peer_sequence(self.incoming.acknowledged())?;
        if length == 0 {
            return Some(self.data_signal(data_ack));
        }
        let (start, position, whole) =
            subflow.position_of(offset).expect("a subflow sends what a scheduler gave it");
        let mapping = DataMapping {
            data_sequence: self.own_sequence(position),
            subflow_sequence: (start + 1) as u32,
            length: whole as u16,
        };
        Some(MptcpOption::Dss { data_ack, mapping: Some(mapping), data_fin: false })
    }

    const fn capable_syn(&self, is_ack: bool) -> MptcpOption {
        if is_ack { MptcpOption::CapableSynAck(self.key) } else { MptcpOption::CapableSyn }
    }

    fn join_syn(&self, index: usize, is_ack: bool) -> Option<MptcpOption> {
        let (subflow, path) = (self.subflows[index].as_ref()?, self.settings.paths[index]);
        let peer = self.peer_key.filter(|_| subflow.joins)?;
        let (backup, nonce) = (path.backup, subflow.nonces[0]);
        if !is_ack {
            let (address, token) = (path.address, keys::token(peer));
            return Some(MptcpOption::JoinSyn { address, backup, token, nonce });
        }
        let hmac = keys::most_64(keys::join_hmac([self.key, peer], subflow.nonces));
        Some(MptcpOption::JoinSynAck { address: 0, backup, hmac, nonce })
    }

    /// The signal of a segment without payload: an acknowledgment, and the DATA_FIN until the peer has acknowledged it, which
    /// is then a mapping of one byte with the subflow sequence number 0 (RFC 8684 §3.3.3).
    fn data_signal(&self, data_ack: u64) -> MptcpOption {
        let end = self.outgoing.end().filter(|_| !self.outgoing.is_finished());
        let mapping = end.map(|end| DataMapping {
            data_sequence: self.own_sequence(end),
            subflow_sequence: 0,
            length: 1,
        });
        MptcpOption::Dss { data_ack, mapping, data_fin: mapping.is_some() }
    }
}
