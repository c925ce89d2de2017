//! Guests as processes of Linux.

pub(crate) mod guest;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod scheduling;
pub(crate) mod sockets;
mod spawn;
