//! A recording as `vmctl dash --record` writes it, made by hand.

use std::fmt::Write;

use serde_json::{Value, json};

/// So many machines, made long ago, and nothing that happens.
pub(crate) fn quiet(machines: usize) -> String {
    let list: Vec<Value> = (0..machines).map(machine).collect();
    let facts = [
        json!({ "type": "context", "label": "environment dev", "server": "https://test", "namespace": null, "read_only": null }),
        json!({ "type": "machines", "list": list }),
        json!({ "type": "listed" }),
        json!({ "type": "source", "source": "machines", "health": { "is": "live" }, "at": 0 }),
    ];
    let mut text = String::from("{\"recording\":\"vmctl dash\",\"version\":1}\n");
    for fact in facts {
        let _ = writeln!(
            text,
            "{}",
            json!({ "at": 1_700_000_000_000_i64, "message": fact })
        );
    }
    text
}

fn machine(number: usize) -> Value {
    json!({ "uid": format!("uid-{number}"), "namespace": "default", "name": format!("web-{number}"), "phase": "Running",
        "cpu": 2, "memory": "4Gi", "provider": "default", "created": 1_600_000_000_000_i64, "current": true,
        "conditions": [{ "kind": "Ready", "status": "True", "reason": "Running", "message": "", "since": 1_600_000_000_000_i64 }] })
}
