//! What every operator needs and kube's `Controller` does not give: a fair, observable queue with back-off per
//! key, workers that survive a panic, watches that do not slow each other down, and a lease.
//!
//! Generic: nothing here knows what a virtual machine is.
//!
//! ```text
//! watch ──► queue (schedule inside) ──► workers ──► the caller's reconcile
//! leader ──► Term, checked before every provider write        shutdown ──► drain, then release
//! ```

pub mod clock;
pub mod failpoint;
pub mod leader;
pub mod metrics;
pub mod pulse;
pub mod queue;
pub mod schedule;
pub mod shutdown;
pub mod watch;
pub mod workers;
