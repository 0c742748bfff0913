//! The operator of virtual machines.

pub mod domain;
pub mod provider;
