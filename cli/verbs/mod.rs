//! The verbs that are not about an environment itself. A new one gets a file here and a variant in `args`.

mod advice;
mod confirm;
pub(crate) mod create;
pub(crate) mod delete;
mod duration;
pub(crate) mod get;
pub(crate) mod install;
mod interrupt;
pub(crate) mod kubectl;
pub(crate) mod mock;
mod progress;
pub(crate) mod uninstall;
pub(crate) mod version;
pub(crate) mod wait;
