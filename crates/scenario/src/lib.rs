//! airlane-scenario
