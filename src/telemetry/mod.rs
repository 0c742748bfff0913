//! What the process tells about itself: logs, metrics, health and, on the loopback, its inner state.

pub mod access;
pub mod health;
pub mod log;
pub mod metrics;
pub mod requests;
pub mod server;
pub mod tls;
