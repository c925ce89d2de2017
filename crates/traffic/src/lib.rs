//! airlane-traffic
