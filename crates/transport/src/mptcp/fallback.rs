//! Fall-back to TCP (RFC 8684 §3.7), when a middlebox removes the options of the first subflow.
//!
//! The data of the connection is then that of the first subflow: positions are offsets, its acknowledgments those of the
//! data, and its FIN ends the data. Without checksums there is no MP_FAIL.

use airlane_core::{Cx, MptcpOption, SubflowStep, TcpFlags, TcpHeader};

use super::connection::MptcpConnection;

/// The meaning of a segment without an option of Multipath TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It belongs to TCP, or it carries an option.
    Ordinary,
    /// The connection continues as TCP.
    FallBack,
    /// The subflow does not carry the options that its data needs: it is reset.
    Reset,
}

impl MptcpConnection {
    /// The verdict on a segment of a subflow. Without an option before the first data sequence signal on the first subflow:
    /// fall back. Later, or on another subflow, with data: reset.
    pub(super) fn judge(
        &self,
        index: usize,
        (header, payload): (&TcpHeader, u32),
        option: Option<MptcpOption>,
    ) -> Verdict {
        let Some(subflow) = self.subflows[index].as_ref() else { return Verdict::Ordinary };
        if self.plain || option.is_some() || header.flags.has(TcpFlags::RST) || subflow.ended {
            return Verdict::Ordinary;
        }
        if index == 0 && !subflow.joins && !self.has_signal {
            return Verdict::FallBack;
        }
        let is_answer = header.flags.has(TcpFlags::SYN) && self.opens(index);
        if payload > 0 || is_answer && subflow.joins { Verdict::Reset } else { Verdict::Ordinary }
    }

    /// The connection continues as TCP on its first subflow.
    pub(super) fn fall_back(&mut self, cx: &mut Cx<'_>) {
        self.plain = true;
        self.incoming.on_established(cx.now);
        if let Some(first) = &mut self.subflows[0] {
            first.failed = false;
        }
        self.announcements.clear();
        self.report(cx, 0, SubflowStep::Established);
        self.report(cx, 0, SubflowStep::FellBack);
    }

    /// The acknowledgment, window and FIN of a segment, after the subflow has handled it.
    pub(super) fn take_plain(&mut self, header: &TcpHeader) {
        let Some(first) = &self.subflows[0] else { return };
        let ended = first.endpoint.at_end();
        if header.flags.has(TcpFlags::ACK) {
            let is_syn = header.flags.has(TcpFlags::SYN);
            let scale = if is_syn { 0 } else { first.endpoint.window_scales()[1] };
            let acknowledged = first.endpoint.offset_acknowledged(header);
            self.outgoing.on_ack(acknowledged, u64::from(header.window) << scale);
        }
        if ended {
            self.incoming.on_end(self.incoming.next());
        }
    }
}
