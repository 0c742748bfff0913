//! A cloud with the provider HTTP API, for development and tests.
//!
//! What the cloud *is* lives in [`world`]: a state machine without clock, thread, task or network. What it looks like
//! on the wire lives in `wire` and `server`; what tests may do to it lives in `faults` and `admin`. `API.md` beside
//! this crate is the reference of both HTTP interfaces.
//!
//! [`serve`] starts everything inside the calling process; the binary `mock-provider` does nothing more than that.

mod admin;
mod clock;
mod faults;
mod journal;
mod keyring;
pub mod options;
mod server;
mod store;
mod wire;
pub mod world;

pub use options::Options;
pub use server::{Error, Running, serve};
