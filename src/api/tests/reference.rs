//! `docs/reference/conditions.md` says what the enums say: every condition, reason and event.

mod reasons;

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::api::condition::ConditionType;
use crate::domain::Reason;
use crate::lifecycle::event::{self, Deed, MAX_NOTE};

/// Set to write the page instead of comparing it.
const UPDATE: &str = "UPDATE_REFERENCE";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/reference/conditions.md")
}

/// Where a condition is found, what it means when it is true, and what when it is not.
fn condition(kind: ConditionType) -> (&'static str, &'static str, &'static str) {
    const VM: &str = "VirtualMachine";
    const CONFIG: &str = "ProviderConfig";
    match kind {
        ConditionType::Ready => (
            "both",
            "VirtualMachine: the VM runs as the spec says, now, and what it owns is there. ProviderConfig: it can be used",
            "the reason is that of whatever is worst; the message says what to do",
        ),
        ConditionType::Provisioned => (
            VM,
            "the instance exists at the provider",
            "False: it does not; Unknown: a create may have made it, and that is being found out",
        ),
        ConditionType::Synced => (
            VM,
            "image, CPU and memory are as the spec says",
            "False: the message names what differs; Unknown: it was not seen yet",
        ),
        ConditionType::ProviderReady => (
            VM,
            "its ProviderConfig is usable and its provider answers",
            "False: everything waits for the ProviderConfig, its Secret or the provider",
        ),
        ConditionType::Deleting => (
            VM,
            "deletion is under way; the message says what it waits for",
            "absent while nobody asked for deletion",
        ),
        ConditionType::Paused => (
            VM,
            "the annotation `compute.example.com/paused` is `\"true\"` here or on the ProviderConfig",
            "absent otherwise",
        ),
        ConditionType::Reconciling => (
            VM,
            "the operator is at work on it by itself",
            "absent otherwise",
        ),
        ConditionType::Stalled => (
            VM,
            "no waiting will mend it: a person has to do something",
            "absent otherwise",
        ),
        ConditionType::Reachable => (
            CONFIG,
            "the endpoint answers",
            "False: it does not; Unknown: it was not asked, because something else is missing",
        ),
        ConditionType::Authenticated => (
            CONFIG,
            "the provider accepts the API key",
            "False: it does not; Unknown: nobody could ask",
        ),
        ConditionType::SafeCreate => (
            CONFIG,
            "a create without an answer can be repeated without making a second VM",
            "False: see `SafeCreateUnsupported`; absent until the provider was asked",
        ),
    }
}

fn page() -> String {
    let mut page = format!(
        "<!-- Made from the enums in src/ by `{UPDATE}=1 cargo test --lib the_reference_page`. Change those. -->\n\
         # Conditions, reasons and events\n\n\
         Reasons are one closed list for conditions and events. They are never renamed, so that alerts can go by them.\n\n\
         ## Conditions\n\n\
         `kubectl get vm -o wide` and `kubectl get pcfg -o wide` show reason and message of `Ready`; `kubectl describe`\n\
         shows all. Times move only when `status` does.\n\n\
         | type | on | True | otherwise |\n|---|---|---|---|\n"
    );
    for kind in ConditionType::ALL {
        let (on, yes, no) = condition(kind);
        let _ = writeln!(page, "| `{}` | {on} | {yes} | {no} |", kind.as_str());
    }
    page.push_str(
        "\n## Reasons\n\n\
         *Event* says whether an event of this reason is told when it comes about, and of which type.\n\n\
         | reason | meaning | found in | event | what to do |\n|---|---|---|---|---|\n",
    );
    for (reason, meaning) in Reason::ALL {
        let row = reasons::of(*reason).unwrap_or_else(|| {
            panic!("{reason} has no row in src/api/tests/reference/reasons.rs: say where it is found and what to do")
        });
        let told = if event::is_told(*reason) {
            event::tone(*reason).as_str()
        } else {
            "–"
        };
        let _ = writeln!(
            page,
            "| `{reason}` | {} | {} | {told} | {} |",
            meaning.trim(),
            row.found_in,
            row.to_do
        );
    }
    page.push_str(&events());
    page
}

fn events() -> String {
    let mut text = format!(
        "\n## Events\n\n\
         Events of `events.k8s.io/v1`, seen with `kubectl describe` and `kubectl get events`. They are told when a condition\n\
         comes to have another reason, and when an object is let go of; never in each pass, and never again after a\n\
         restart. On its way to Running a VM tells two: `Created` and `Running`.\n\n\
         - `regarding` names the object with its uid; `reportingController` is `compute.example.com/vmoperator`;\n  \
           `note` has at most {MAX_NOTE} bytes.\n\
         - The same event again within ten minutes is counted in the `series` of the first one, written at most once a\n  \
           minute. An object has at most 20 new events at once and then one in three minutes.\n\
         - An event may be lost: they wait for nobody and nobody repeats them. `vmoperator_events_total{{result}}` counts\n  \
           what became of them; conditions are what can be relied on.\n\n\
         | action | meaning |\n|---|---|\n"
    );
    for (deed, meaning) in Deed::ALL {
        let _ = writeln!(text, "| `{}` | {meaning} |", deed.as_str());
    }
    text
}

#[test]
fn the_reference_page_says_what_the_enums_say() {
    let wanted = page();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::create_dir_all(path().parent().expect("a folder")).expect("folder");
        std::fs::write(path(), &wanted).expect("write");
    }
    let found = std::fs::read_to_string(path()).unwrap_or_default();
    assert!(
        found == wanted,
        "{} differs from the enums: run `{UPDATE}=1 cargo test --lib the_reference_page` and commit the change",
        path().display()
    );
}

#[test]
fn no_row_is_written_twice() {
    for (reason, _) in Reason::ALL {
        let rows = reasons::ROWS.iter().filter(|row| row.reason == *reason);
        assert_eq!(rows.count(), 1, "{reason}");
    }
}
