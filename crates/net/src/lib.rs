//! airlane-net
