//! The manager: who leads, who writes, what is told, and what becomes of the rest when one part is out of order. Real
//! processes on a real API server. Each test has a namespace, a Lease and a cloud of its own, so that they run beside
//! each other. Some need the feature `failpoints`; without it they fail.
#![cfg(test)]

#[path = "../e2e/mod.rs"]
#[cfg(test)]
mod e2e;
#[path = "../support/mod.rs"]
#[cfg(test)]
mod support;

#[cfg(test)]
mod admission;
#[cfg(test)]
mod chaos;
#[cfg(test)]
mod dash;
#[cfg(test)]
mod handshake;
#[cfg(test)]
mod leader;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod panels;
#[cfg(test)]
mod rights;
#[cfg(test)]
mod scope;
#[cfg(test)]
mod secure;
#[cfg(test)]
mod slow;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod stuck;
#[cfg(test)]
mod sweep;
mod versions;
#[cfg(test)]
mod watches;
