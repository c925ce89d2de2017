//! Messages of vhost-user, as far as the driver of User Mode Linux sends them.
//!
//! Source: "Vhost-user Protocol" of QEMU's documentation (docs/interop/vhost-user.rst), with the protocol features
//! `REPLY_ACK`, `BACKEND_REQ`, `CONFIG` and `INBAND_NOTIFICATIONS`: a notification is a message on a socket, in either
//! direction, that is answered when it was handled. Times are exact because of this.

/// Size of a message's header.
pub const HEADER: usize = 12;
/// Largest payload: a memory table of two regions, or a configuration space.
pub const PAYLOAD_MAX: usize = 256 + HEADER;

/// Size of a notification, an interrupt, and the acknowledgment of a request.
pub const NOTIFICATION: usize = HEADER + 8;

/// Version of the protocol, in the flags.
const VERSION: u32 = 1;
/// Flags of a message: it is an answer; it asks for one.
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;
/// The request of a backend to interrupt a queue's driver.
const CALL: u32 = 4;

/// Feature bits of virtio: VIRTIO_NET_F_MAC, VHOST_USER_F_PROTOCOL_FEATURES and VIRTIO_F_VERSION_1.
pub const FEATURES: u64 = 1 << 5 | 1 << 30 | 1 << 32;
/// Another one: VIRTIO_NET_F_CSUM. Frames may have no checksum, and several buffers (NETIF_F_SG).
pub const WITHOUT_CHECKSUM: u64 = 1;
/// The protocol features of this page.
pub const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The kind of message.
    pub request: u32,
    /// Version and flags.
    pub flags: u32,
    /// Bytes behind the header.
    pub size: u32,
}

impl Header {
    /// Reads a header.
    #[must_use]
    pub fn decode(bytes: &[u8; HEADER]) -> Self {
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Self { request: word(0), flags: word(4), size: word(8) }
    }

    /// Whether the sender waits for an acknowledgment.
    #[must_use]
    pub const fn needs_reply(self) -> bool {
        self.flags & NEED_REPLY != 0
    }
}

/// A request of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// GET_FEATURES.
    GetFeatures,
    /// SET_FEATURES, with what both sides know.
    SetFeatures(u64),
    /// SET_OWNER.
    SetOwner,
    /// SET_MEM_TABLE: the memory of the guest, with a descriptor of its file.
    SetMemory(Region),
    /// SET_VRING_NUM: size of a queue.
    SetQueueSize(u32, u32),
    /// SET_VRING_BASE: index of the first entry of a queue.
    SetQueueBase(u32, u32),
    /// SET_VRING_ADDR: the parts of a queue.
    SetQueueAddresses(u32, Addresses),
    /// SET_VRING_ENABLE.
    EnableQueue(u32, bool),
    /// GET_PROTOCOL_FEATURES.
    GetProtocolFeatures,
    /// SET_PROTOCOL_FEATURES.
    SetProtocolFeatures(u64),
    /// SET_BACKEND_REQ_FD: the socket for our requests, as a descriptor.
    SetBackendSocket,
    /// GET_CONFIG: a part of the configuration space.
    GetConfig {
        /// First byte.
        offset: u32,
        /// Number of bytes.
        size: u32,
        /// To be repeated.
        flags: u32,
    },
    /// VRING_KICK: a queue has new entries.
    Kick(u32),
}

/// A part of the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Address of the region in the guest.
    pub address: u64,
    /// Size of the region.
    pub size: u64,
    /// Offset of the region in its file.
    pub offset: u64,
}

/// The addresses of the parts of a queue, in the guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Descriptors.
    pub descriptors: u64,
    /// Ring of used entries.
    pub used: u64,
    /// Ring of available entries.
    pub available: u64,
}

impl Request {
    /// Reads a request; `None` if the driver may not send it.
    #[must_use]
    pub fn decode(header: Header, payload: &[u8]) -> Option<Self> {
        let u32_at = |at: usize| payload.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
        let u64_at = |at: usize| payload.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes);
        if header.flags & 0b11 != VERSION || payload.len() != header.size as usize {
            return None;
        }
        Some(match header.request {
            1 => Self::GetFeatures,
            2 => Self::SetFeatures(u64_at(0)?),
            3 => Self::SetOwner,
            5 => {
                // Regions follow their number: a guest below 3 GB has one.
                if u32_at(0)? != 1 {
                    return None;
                }
                Self::SetMemory(Region { address: u64_at(8)?, size: u64_at(16)?, offset: u64_at(32)? })
            }
            8 => Self::SetQueueSize(u32_at(0)?, u32_at(4)?),
            9 => Self::SetQueueAddresses(
                u32_at(0)?,
                Addresses { descriptors: u64_at(8)?, used: u64_at(16)?, available: u64_at(24)? },
            ),
            10 => Self::SetQueueBase(u32_at(0)?, u32_at(4)?),
            15 => Self::GetProtocolFeatures,
            16 => Self::SetProtocolFeatures(u64_at(0)?),
            18 => Self::EnableQueue(u32_at(0)?, u32_at(4)? != 0),
            21 => Self::SetBackendSocket,
            24 => Self::GetConfig { offset: u32_at(0)?, size: u32_at(4)?, flags: u32_at(8)? },
            35 => Self::Kick(u32_at(0)?),
            _ => return None,
        })
    }
}

/// The answer to a request.
#[must_use]
pub fn reply(request: u32, payload: &[u8]) -> Vec<u8> {
    message(request, VERSION | REPLY, payload)
}

/// The acknowledgment of a request that succeeded.
#[must_use]
pub fn acknowledgment(request: u32) -> [u8; NOTIFICATION] {
    let mut bytes = [0; NOTIFICATION];
    bytes[..4].copy_from_slice(&request.to_ne_bytes());
    bytes[4..8].copy_from_slice(&(VERSION | REPLY).to_ne_bytes());
    bytes[8..12].copy_from_slice(&8_u32.to_ne_bytes());
    bytes
}

/// Our request to interrupt the driver of a queue. If `confirmed`, it is answered by an [`acknowledgment`] of the same
/// size.
#[must_use]
pub fn call(queue: u32, confirmed: bool) -> [u8; NOTIFICATION] {
    let mut bytes = [0; NOTIFICATION];
    bytes[..4].copy_from_slice(&CALL.to_ne_bytes());
    let flags = if confirmed { VERSION | NEED_REPLY } else { VERSION };
    bytes[4..8].copy_from_slice(&flags.to_ne_bytes());
    bytes[8..12].copy_from_slice(&8_u32.to_ne_bytes());
    bytes[12..16].copy_from_slice(&queue.to_ne_bytes());
    bytes
}

/// Whether these bytes confirm a call.
#[must_use]
pub fn is_call_confirmed(bytes: &[u8; NOTIFICATION]) -> bool {
    let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    word(0) == CALL && word(4) == VERSION | REPLY && bytes[12..].iter().all(|&byte| byte == 0)
}

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let words = [request, flags, payload.len() as u32];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests;
