//! Fault rules.
