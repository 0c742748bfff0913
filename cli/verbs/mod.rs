//! The verbs that are not about an environment itself. A new one gets a file here and a variant in `args`.

mod advice;
pub(crate) mod age;
pub(crate) mod apply;
mod choice;
pub(crate) mod completion;
mod confirm;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod describe;
mod duration;
pub(crate) mod edit;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod get;
mod input;
pub(crate) mod install;
mod interrupt;
pub(crate) mod kubectl;
pub(crate) mod man;
pub(crate) mod mock;
mod problems;
mod progress;
pub(crate) mod top;
pub(crate) mod uninstall;
pub(crate) mod version;
pub(crate) mod wait;
