//! `vmctl dash` on a real terminal, on a cluster that does not answer, and its numbers against raw scrapes.
#![cfg(test)]

mod numbers;
mod pty;
mod recording;
#[path = "../sandbox/mod.rs"]
mod sandbox;
mod servers;
mod terminal;
