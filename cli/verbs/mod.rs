//! The verbs that are not about an environment itself. A new one gets a file here and a variant in `args`.

mod advice;
mod confirm;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod duration;
pub(crate) mod get;
mod interrupt;
pub(crate) mod kubectl;
pub(crate) mod mock;
mod progress;
pub(crate) mod version;
pub(crate) mod wait;
