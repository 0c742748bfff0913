//! The operator of virtual machines.

pub mod api;
pub mod controller;
pub mod domain;
pub mod lifecycle;
pub mod provider;
pub mod runtime;

#[cfg(test)]
mod architecture;
