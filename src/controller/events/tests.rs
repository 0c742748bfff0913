mod series;
mod writing;

use super::*;
use crate::domain::Reason;
use crate::lifecycle::event::Deed;

fn about(name: &str) -> Regarding {
    Regarding {
        kind: Kind::VirtualMachine,
        key: ObjectKey::new("team-a", name),
        uid: Uid::new(format!("uid-of-{name}")),
    }
}

fn told(name: &str, reason: Reason, note: &str, second: i64) -> Told {
    Told {
        about: about(name),
        event: Event::new(reason, Deed::Observe, note),
        at: Timestamp::from_second(1_700_000_000 + second).unwrap(),
    }
}
