//! Plain words that every floor above speaks: keys, instances, failures, intents, time.
//!
//! Nothing here reads a clock, waits, logs or talks to anybody.

pub mod failure;
pub mod instance;
pub mod intent;
pub mod key;
pub mod network;
pub mod quantity;
pub mod reason;
pub mod term;
pub mod time;

pub use failure::{ErrorKind, Operation, ProviderError};
pub use instance::{Address, AddressType, Capabilities, Instance, InstancePhase, OwnerTag};
pub use intent::{CreateBody, InstanceSpec, Intent, IntentError};
pub use key::{
    ClusterId, IdempotencyKey, Incarnation, InstanceId, ObjectKey, Owner, Uid, fingerprint,
};
pub use network::{Network, NetworkError};
pub use quantity::{Quantity, QuantityError};
pub use reason::Reason;
pub use term::{Term, TermHolder};
pub use time::Moment;
