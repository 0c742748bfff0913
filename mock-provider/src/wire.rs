//! The API's JSON and HTTP shapes: bytes to [`Call`], [`Answer`] and [`Refusal`] to bytes.

mod canonical;
mod query;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use read::{Parts, Read, Route, read, route};
pub(crate) use write::{Written, vm_value, write_answer, write_refusal};

/// Largest body of a request.
pub(crate) const MAX_BODY: usize = 1 << 20;
