//! airlane-radio
