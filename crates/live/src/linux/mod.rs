//! The part for Linux: namespaces, TUN devices, and the processes of a run.

pub(crate) mod address;
pub(crate) mod cell_process;
pub(crate) mod clock;
pub(crate) mod host;
pub(crate) mod launcher;
pub(crate) mod mptcp;
pub(crate) mod namespace;
pub mod options;
pub mod packet_ring;
pub(crate) mod process;
pub(crate) mod radio_socket;
pub(crate) mod socket;
pub(crate) mod storage;
pub mod tcp_info;
pub(crate) mod tun;
