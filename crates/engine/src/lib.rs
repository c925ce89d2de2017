//! airlane-engine
