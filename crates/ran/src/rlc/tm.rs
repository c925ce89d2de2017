//! RLC transparent mode (TS 36.322 v17.0 §5.1.1): a PDU is a whole SDU, without a header.
//!
//! No data radio bearer of LTE uses it (it carries BCCH, PCCH and CCCH, TS 36.322 v17.0 §4.2.1.1),
//! but it shows a bearer without the functions of RLC: an SDU waits until a block has room for all
//! of it, reordering by HARQ is visible, and a block that HARQ gives up is lost.

use airlane_core::{Cx, DropCause, PacketRef};

use super::source::Source;
use super::store::SduStore;
use super::{DataPdu, Pdu};

/// One PDU, if the next SDU fits in `space` bytes. An SDU that does not fit stays the next one: it
/// has left the discipline, and discardTimer does not apply to it (TS 36.322 v17.0 §5.3 names UM
/// and AM).
#[inline]
pub(crate) fn transmit(cx: &mut Cx<'_>, source: &mut Source, space: u32) -> Option<Pdu> {
    let from = source.position();
    let len = source.fill_whole(cx, space)?;
    Some(Pdu::Data(DataPdu { from, len, size: len, ..DataPdu::default() }))
}

/// Receives a PDU with its SDU.
#[inline]
pub(crate) fn receive(sdus: &mut SduStore, pdu: &DataPdu, deliver: &mut Vec<PacketRef>) {
    deliver.push(take(sdus, pdu));
}

/// A PDU was lost.
pub(crate) fn lose(cx: &mut Cx<'_>, sdus: &mut SduStore, pdu: &DataPdu) {
    let packet = take(sdus, pdu);
    cx.discard(packet, DropCause::Radio);
}

fn take(sdus: &mut SduStore, pdu: &DataPdu) -> PacketRef {
    sdus.take_at(pdu.from).expect("a PDU arrives or is lost, once")
}
