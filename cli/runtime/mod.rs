//! Where an environment runs.

pub(crate) mod embedded;
pub(crate) mod kind;
