//! Procedures by themselves.
