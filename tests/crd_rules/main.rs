//! The rules of the CRDs on a real API server: what it takes, what it refuses, and in which words.
#![cfg(test)]

#[path = "../support/mod.rs"]
mod support;

mod asked;
mod conformance;
mod memory;
mod provider_config;
mod seen;
mod server;
mod virtual_machine;
mod virtual_machine_update;

// What the simulated API server is written in terms of: conformance compiles its very source.
use vmoperator::{api, controller, domain, lifecycle};
