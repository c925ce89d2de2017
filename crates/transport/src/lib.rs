//! airlane-transport
