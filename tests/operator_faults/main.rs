//! Everything that a provider can do wrong, one test each: several VMs on the way, one leaving, and a neighbour who must
//! not notice. At the end of each, one judge joins the provider's log, the audit log and the objects (I1, I3, I4, I8, I9,
//! I11, I12); `doctored` shows that he finds what he looks for.
#![cfg(test)]

#[path = "../e2e/mod.rs"]
#[cfg(test)]
mod e2e;
#[path = "../support/mod.rs"]
#[cfg(test)]
mod support;

#[cfg(test)]
mod answers;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod deletion;
#[cfg(test)]
mod doctored;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod orphans;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod stubborn;
#[cfg(test)]
mod worlds;
