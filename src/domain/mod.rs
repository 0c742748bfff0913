//! Plain words that every floor shares: values without a client, a clock or a log.

pub mod quantity;

pub use quantity::Quantity;
