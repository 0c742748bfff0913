use kube::core::response::{Status, StatusDetails};
use serde_json::json;

use super::*;
use crate::hint::Exit;

/// Code, reason, kind and name of an answer, and what a command makes of it.
const ANSWERS: [(u16, &str, &str, &str, Exit, &str); 13] = [
    (
        401,
        "Unauthorized",
        "",
        "",
        Exit::Failure,
        "VMC-UNAUTHORIZED",
    ),
    (
        403,
        "Forbidden",
        "virtualmachines",
        "a",
        Exit::Failure,
        "VMC-FORBIDDEN",
    ),
    (
        404,
        "NotFound",
        "virtualmachines",
        "a",
        Exit::NotFound,
        "VMC-NOT-FOUND",
    ),
    (
        404,
        "NotFound",
        "namespaces",
        "a",
        Exit::NotFound,
        "VMC-NO-NAMESPACE",
    ),
    (404, "NotFound", "", "", Exit::Environment, "VMC-NO-KIND"),
    (
        409,
        "AlreadyExists",
        "virtualmachines",
        "a",
        Exit::Conflict,
        "VMC-EXISTS",
    ),
    (
        409,
        "Conflict",
        "virtualmachines",
        "a",
        Exit::Conflict,
        "VMC-CONFLICT",
    ),
    (400, "BadRequest", "", "", Exit::Failure, "VMC-INVALID"),
    (
        422,
        "Invalid",
        "virtualmachines",
        "a",
        Exit::Failure,
        "VMC-INVALID",
    ),
    (429, "TooManyRequests", "", "", Exit::Unreachable, "VMC-API"),
    (500, "InternalError", "", "", Exit::Failure, "VMC-REFUSED"),
    (
        503,
        "ServiceUnavailable",
        "",
        "",
        Exit::Unreachable,
        "VMC-API",
    ),
    (504, "Timeout", "", "", Exit::Unreachable, "VMC-API"),
];

fn refused(code: u16, reason: &str, kind: &str, name: &str) -> Error {
    let details = StatusDetails {
        kind: kind.to_owned(),
        name: name.to_owned(),
        ..serde_json::from_value(json!({})).unwrap()
    };
    Error::Refused {
        what: "try it".to_owned(),
        status: Box::new(
            Status::failure("", reason)
                .with_code(code)
                .with_details(details),
        ),
    }
}

#[test]
fn every_answer_has_its_exit_code_and_id() {
    for (code, reason, kind, name, exit, id) in ANSWERS {
        let error = refused(code, reason, kind, name);
        assert_eq!(error.outcome(), (exit, id), "{code} {reason} {kind}");
    }
    let silent = Error::Silent {
        what: String::new(),
    };
    assert_eq!(silent.outcome(), (Exit::Unreachable, "VMC-API"));
    assert!(silent.to_string().contains("within 15 s"));
}

#[test]
fn an_object_that_is_absent_is_not_a_kind_that_is_absent() {
    assert!(refused(404, "NotFound", "virtualmachines", "a").is_absent(Kind::VirtualMachine));
    assert!(!refused(404, "NotFound", "namespaces", "a").is_absent(Kind::VirtualMachine));
    assert!(!refused(404, "NotFound", "", "").is_absent(Kind::VirtualMachine));
    assert!(refused(409, "AlreadyExists", "virtualmachines", "a").is_taken());
    assert!(!refused(409, "Conflict", "virtualmachines", "a").is_taken());
}

#[test]
fn pages_become_one_list_as_new_as_the_last_page() {
    let first = json!({ "metadata": { "continue": "x", "resourceVersion": "1" }, "items": [1, 2] });
    let last = json!({ "metadata": { "resourceVersion": "1" }, "items": [3] });
    let whole = joined(Some(joined(None, first)), last);
    assert_eq!(
        whole,
        json!({ "metadata": { "resourceVersion": "1" }, "items": [1, 2, 3] })
    );
}
