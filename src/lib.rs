//! The operator of virtual machines.

pub mod api;
pub mod controller;
pub mod domain;
pub mod lifecycle;
pub mod operator;
pub mod provider;
pub mod runtime;
pub mod settings;
pub mod telemetry;

#[cfg(test)]
mod architecture;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod simulation;
