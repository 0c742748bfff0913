//! What can go wrong.

use serde_json::{Value, json};

/// One thing that goes wrong.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// kill −9 of whoever leads, or of any operator.
    Kill { leader: bool },
    /// SIGSTOP for so many ticks; longer than a Lease where `leader` sleeps.
    Freeze { leader: bool, ticks: u32 },
    /// The API server is not reached, or answers with a code, for one operator.
    Cut { silent: bool, code: u16, ticks: u32 },
    /// Writes of one operator are carried out, and no answer comes back.
    Deaf { times: usize },
    /// The watches of one operator end.
    WatchesEnd,
    /// kube-apiserver restarts.
    ApiServerRestarts,
    /// Somebody deletes the Lease.
    LeaseDeleted,
    /// The operator's rights are taken away for so many ticks.
    RightsTaken { ticks: u32 },
    /// A rule of the provider, which hits calls until it is used up.
    Provider(Value),
    /// The provider is away for so many ticks.
    ProviderAway { ticks: u32 },
    /// A VM is stopped, or started, by somebody at the provider.
    Switched,
}

/// Draws the next one. All are equally likely, but restarts, which take long by themselves, come seldom.
pub(crate) fn draw(random: &mut fastrand::Rng) -> Fault {
    let leader = random.bool();
    match random.u8(..24) {
        0..=3 => Fault::Kill { leader },
        4 | 5 => Fault::Freeze {
            leader,
            ticks: random.u32(2..50),
        },
        6 | 7 => Fault::Cut {
            silent: random.bool(),
            code: [500, 503, 429, 504][random.usize(..4)],
            ticks: random.u32(4..40),
        },
        8..=10 => Fault::Deaf {
            times: random.usize(1..4),
        },
        11 | 12 => Fault::WatchesEnd,
        13 => Fault::ApiServerRestarts,
        14 => Fault::LeaseDeleted,
        15 => Fault::RightsTaken {
            ticks: random.u32(4..16),
        },
        16..=20 => Fault::Provider(provider_rule(random)),
        21 => Fault::ProviderAway {
            ticks: random.u32(2..12),
        },
        _ => Fault::Switched,
    }
}

fn provider_rule(random: &mut fastrand::Rng) -> Value {
    let operation = ["create", "create", "delete", "get", "list", "changes"][random.usize(..6)];
    let effect = match random.u8(..10) {
        0 => json!({ "kind": "dropBefore" }),
        1 | 2 => json!({ "kind": "dropAfter" }),
        3 => json!({ "kind": "status", "status": 500, "code": "Internal", "applied": true }),
        4 => json!({ "kind": "status", "status": 503, "code": "Unavailable" }),
        5 => {
            json!({ "kind": "status", "status": 429, "code": "TooManyRequests", "retryAfter": "999999" })
        }
        6 => json!({ "kind": "delay", "milliseconds": 2_500, "applied": true }),
        7 => json!({ "kind": "delay", "milliseconds": 2_500 }),
        8 => json!({ "kind": "html" }),
        _ => json!({ "kind": "truncated" }),
    };
    json!({ "operation": operation, "count": random.u32(1..5), "effect": effect })
}
