//! What is under `config/` is well formed, hardened, and gives exactly the rights that are written down here.
#![cfg(test)]

#[path = "../e2e/mod.rs"]
mod e2e;
#[path = "../support/mod.rs"]
mod support;

mod applied;
mod compat;
mod files;
mod hardening;
mod rendered;
mod rights;
mod workflow;
