//! The mock provider over real sockets.

mod admin;
mod basic;
mod client;
mod contract;
mod faults;
mod process;
mod restart;
mod scale;
