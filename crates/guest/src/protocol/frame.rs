//! Ethernet frames of a guest's network interfaces, with the header of virtio (virtio 1.2 §5.1.6).

/// Header of virtio before each frame. No offload is offered, so that it is zero.
const VIRTIO: usize = 12;
/// Addresses and type of a frame.
const ETHERNET: usize = 14;
/// Bytes before the packet.
const BEFORE: usize = VIRTIO + ETHERNET;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// The first type for local experiments (IEEE Std 802-2014 §9.2.3): reports of the agent.
const EXPERIMENT: u16 = 0x88b5;
/// The second Ethernet type: calls that the agent makes while another call waits.
const EXPERIMENT_MEANWHILE: u16 = 0x88b6;

/// The address of a network interface.
pub type Mac = [u8; 6];

/// The address of the interface with this number: locally administered.
#[must_use]
pub const fn mac(number: u16) -> Mac {
    let [high, low] = number.to_be_bytes();
    [0x02, 0, 0, 0, high, low]
}

/// The content of a frame from a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// An IP packet.
    Packet(&'a [u8]),
    /// A report of the agent.
    Report(&'a [u8]),
    /// Anything else.
    Other,
}

/// Reads a frame.
#[must_use]
pub fn content(frame: &[u8]) -> Content<'_> {
    let Some((before, behind)) = frame.split_at_checked(BEFORE) else { return Content::Other };
    match u16::from_be_bytes([before[BEFORE - 2], before[BEFORE - 1]]) {
        IPV4 | IPV6 => Content::Packet(behind),
        EXPERIMENT => Content::Report(behind),
        _ => Content::Other,
    }
}

/// Makes the frame that carries an IP packet to an interface. `into` is cleared; `append` adds the packet.
pub fn to_interface(mac: Mac, into: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>)) {
    into.clear();
    into.resize(VIRTIO, 0);
    into[10] = 1; // number of buffers, of a header of version 1
    into.extend_from_slice(&mac);
    into.extend_from_slice(&[0x02, 0xff, 0, 0, 0, 0]); // from outside
    into.extend_from_slice(&IPV4.to_be_bytes());
    append(into);
    if into.get(BEFORE).is_some_and(|first| first >> 4 == 6) {
        into[BEFORE - 2..BEFORE].copy_from_slice(&IPV6.to_be_bytes());
    }
}

/// Makes the frame that carries a request to the agent; `meanwhile` is true while another request waits. `into` is
/// cleared.
pub fn to_agent(mac: Mac, meanwhile: bool, into: &mut Vec<u8>, request: &[u8]) {
    to_interface(mac, into, |into| into.extend_from_slice(request));
    let kind = if meanwhile { EXPERIMENT_MEANWHILE } else { EXPERIMENT };
    into[BEFORE - 2..BEFORE].copy_from_slice(&kind.to_be_bytes());
}

/// The configuration space of a network device: its address, then its status and number of queues.
#[must_use]
pub fn configuration(mac: Mac) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..6].copy_from_slice(&mac);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_survives_its_frame() {
        for version in [0x45, 0x60] {
            let packet = [version, 1, 2, 3];
            let mut frame = vec![9; 40];
            to_interface(mac(258), &mut frame, |into| into.extend_from_slice(&packet));
            assert_eq!(frame.len(), 12 + 14 + 4);
            assert_eq!(frame[12..18], [2, 0, 0, 0, 1, 2]);
            assert_eq!(content(&frame), Content::Packet(&packet));
        }
    }

    #[test]
    fn a_request_has_its_own_type_whatever_it_begins_with() {
        let mut frame = vec![];
        to_agent(mac(0), true, &mut frame, &[0x60, 1]);
        assert_eq!(frame[24..], [0x88, 0xb6, 0x60, 1]);
        to_agent(mac(0), false, &mut frame, &[2]);
        assert_eq!(content(&frame), Content::Report(&[2]));
    }

    #[test]
    fn a_short_frame_is_nothing() {
        assert_eq!(content(&[0; 25]), Content::Other);
        let mut report = vec![0; 24];
        report.extend_from_slice(&[0x88, 0xb5, b'x']);
        assert_eq!(content(&report), Content::Report(b"x"));
    }
}
