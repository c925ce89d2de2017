//! RLC transparent mode (TS 36.322 v17.0 §5.1.1): an SDU is a PDU, with no header, whole.
//!
//! No data radio bearer of LTE uses it (it carries BCCH, PCCH and CCCH, TS 36.322 v17.0
//! §4.2.1.1), but it shows what a bearer is without RLC: an SDU waits until a block has room for
//! all of it, what HARQ lets overtake arrives overtaken, and what HARQ gives up is gone.

use airlane_core::{Cx, DropCause, PacketRef};

use super::source::Source;
use super::store::SduStore;
use super::{DataPdu, Pdu};

/// One PDU, if the next SDU fits in `space` bytes. One that does not stays the next: no
/// discipline sees it again, and the discardTimer has no hold on it (TS 36.322 v17.0 §5.3 names
/// UM and AM).
#[inline]
pub(crate) fn transmit(cx: &mut Cx<'_>, source: &mut Source, space: u32) -> Option<Pdu> {
    let from = source.position();
    let len = source.fill_whole(cx, space)?;
    Some(Pdu::Data(DataPdu { from, len, size: len, ..DataPdu::default() }))
}

/// A PDU has come, and its SDU with it.
#[inline]
pub(crate) fn receive(sdus: &mut SduStore, pdu: &DataPdu, deliver: &mut Vec<PacketRef>) {
    deliver.push(take(sdus, pdu));
}

/// A PDU will never come.
pub(crate) fn lose(cx: &mut Cx<'_>, sdus: &mut SduStore, pdu: &DataPdu) {
    let packet = take(sdus, pdu);
    cx.discard(packet, DropCause::Radio);
}

fn take(sdus: &mut SduStore, pdu: &DataPdu) -> PacketRef {
    sdus.take_at(pdu.from).expect("a PDU arrives or is lost, once")
}
