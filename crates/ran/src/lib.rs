//! airlane-ran
