//! The options of Multipath TCP (RFC 8684 §3), version 1.
//!
//! [`crate::TcpHeader`] has no room for them: a packet that has one carries it next to its header
//! ([`crate::Packet::mptcp`]).

/// Data that a subflow carries: where its bytes are in the data of the connection (RFC 8684 §3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataMapping {
    /// Data sequence number of the first byte.
    pub data_sequence: u64,
    /// Its subflow sequence number, relative to the initial one.
    pub subflow_sequence: u32,
    /// Number of bytes, with the DATA_FIN.
    pub length: u16,
}

/// An option of Multipath TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MptcpOption {
    /// MP_CAPABLE of a SYN (RFC 8684 §3.1).
    CapableSyn,
    /// MP_CAPABLE of a SYN-ACK: the key of the listener.
    CapableSynAck(u64),
    /// MP_CAPABLE of the third segment: the keys of the initiator and of the listener.
    CapableAck([u64; 2]),
    /// MP_CAPABLE of the initiator's first data: the same keys, and the bytes that the segment maps to the beginning of
    /// the data.
    CapableData([u64; 2], u16),
    /// MP_JOIN of a SYN (RFC 8684 §3.2).
    JoinSyn {
        /// Identifier of the source address.
        address: u8,
        /// The subflow is a backup.
        backup: bool,
        /// The receiver's token.
        token: u32,
        /// The sender's random number.
        nonce: u32,
    },
    /// MP_JOIN of a SYN-ACK.
    JoinSynAck {
        /// Identifier of the source address.
        address: u8,
        /// The subflow is a backup.
        backup: bool,
        /// The 64 leftmost bits of the sender's HMAC.
        hmac: u64,
        /// The sender's random number.
        nonce: u32,
    },
    /// MP_JOIN of the third segment: the 160 leftmost bits of the initiator's HMAC.
    JoinAck([u8; 20]),
    /// The data sequence signal (RFC 8684 §3.3). Numbers have 64 bits, and there is no checksum.
    Dss {
        /// The data acknowledgment.
        data_ack: u64,
        /// The mapping of the payload.
        mapping: Option<DataMapping>,
        /// The mapping ends with the end of the data (DATA_FIN).
        data_fin: bool,
    },
    /// ADD_ADDR with an address of IPv4 and without a port (RFC 8684 §3.4.1).
    AddAddr {
        /// Identifier of the address.
        id: u8,
        /// The address.
        address: [u8; 4],
        /// The 64 rightmost bits of the sender's HMAC; none in an echo.
        hmac: Option<u64>,
    },
    /// REMOVE_ADDR of one address, with its identifier (RFC 8684 §3.4.2).
    RemoveAddr(u8),
    /// MP_PRIO of the subflow that carries it (RFC 8684 §3.3.8).
    Prio {
        /// The subflow is a backup.
        backup: bool,
    },
    /// MP_FASTCLOSE with the receiver's key (RFC 8684 §3.5).
    FastClose(u64),
}

impl MptcpOption {
    /// The option kind (RFC 8684 §3).
    pub const KIND: u8 = 30;
    /// Bytes of a data sequence signal with a mapping and an acknowledgment, padded to 32-bit words.
    pub const DSS_MAPPING_LEN: u32 = 28;
    /// Bytes of a data sequence signal without a mapping.
    pub const DSS_LEN: u32 = 12;

    /// Bytes on the wire, padded to 32-bit words: RFC 8684 figures 4 to 7, 9 and 11 to 14.
    #[must_use]
    pub const fn padded_len(&self) -> u32 {
        match self {
            Self::CapableSyn => 4,
            Self::CapableSynAck(_) | Self::JoinSyn { .. } => 12,
            Self::CapableAck(_) => 20,
            Self::JoinSynAck { .. } => 16,
            Self::JoinAck(_) | Self::CapableData(..) => 24, // 22 of the latter, padded
            Self::Dss { mapping: None, .. } => Self::DSS_LEN, // 4 + 8
            Self::Dss { mapping: Some(_), .. } => Self::DSS_MAPPING_LEN, // 4 + 8 + 8 + 4 + 2, padded
            Self::AddAddr { hmac: Some(_), .. } => 16,
            Self::AddAddr { hmac: None, .. } => 8,
            Self::RemoveAddr(_) | Self::Prio { .. } => 4, // 3 of the latter, padded
            Self::FastClose(_) => 12,
        }
    }
}
