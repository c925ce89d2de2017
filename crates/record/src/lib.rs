//! airlane-record
