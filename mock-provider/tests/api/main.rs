//! The mock provider over real sockets.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole crate is a test"
)]

mod admin;
mod basic;
mod client;
mod contract;
mod faults;
mod process;
mod restart;
mod scale;
