mod passes;

use super::{Format, LogHandle, filter, subscriber};
use serde_json::Value;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use tracing::subscriber::DefaultGuard;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn json(&self) -> Vec<Value> {
        self.text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// Logs of this thread until the guard is dropped.
fn capture(format: Format, level: &str) -> (Lines, LogHandle, DefaultGuard) {
    let lines = Lines::default();
    let writer = lines.clone();
    let (subscriber, handle) = subscriber(format, level, move || writer.clone()).unwrap();
    (lines, handle, tracing::subscriber::set_default(subscriber))
}

#[test]
fn a_json_line_is_flat_and_carries_the_fields_of_every_span_around_it() {
    let (lines, _, _guard) = capture(Format::Json, "info");
    let pass = tracing::info_span!("pass", name = "web", id = tracing::field::Empty).entered();
    pass.record("id", "vm-1");
    tracing::info_span!("call", operation = "get")
        .in_scope(|| tracing::info!(status = 200, "answered"));
    let line = &lines.json()[0];
    for (field, value) in [
        ("name", "web"),
        ("id", "vm-1"),
        ("operation", "get"),
        ("message", "answered"),
    ] {
        assert_eq!(line[field], value, "{line}");
    }
    assert_eq!(
        (&line["status"], &line["level"]),
        (&200.into(), &"INFO".into())
    );
    assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn an_error_is_told_with_its_causes_and_without_repeating_them() {
    #[derive(Debug, thiserror::Error)]
    #[error("outer failed")]
    struct Outer(#[source] Inner);
    #[derive(Debug, thiserror::Error)]
    #[error("middle failed: {0}")]
    struct Inner(#[source] io::Error);
    let (lines, _, _guard) = capture(Format::Json, "info");
    let error = Outer(Inner(io::Error::other("no route")));
    tracing::warn!(error = &error as &dyn std::error::Error, "trying on");
    assert_eq!(
        lines.json()[0]["error"],
        "outer failed: middle failed: no route"
    );
}

#[test]
fn text_is_for_people() {
    let (lines, _, _guard) = capture(Format::Text, "info");
    tracing::info!(objects = 3, "listed");
    assert!(
        lines.text().contains("INFO") && lines.text().contains("listed objects=3"),
        "{}",
        lines.text()
    );
}

#[test]
fn the_level_can_be_changed_while_running_and_a_wrong_one_changes_nothing() {
    let (lines, handle, _guard) = capture(Format::Json, "info");
    tracing::debug!("one");
    handle.set_level("debug").unwrap();
    tracing::debug!("two");
    handle.set_level("loud").unwrap_err();
    tracing::debug!("three");
    handle.set_level("warn").unwrap();
    tracing::info!("four");
    let messages: Vec<Value> = lines
        .json()
        .into_iter()
        .map(|line| line["message"].clone())
        .collect();
    assert_eq!(messages, ["two", "three"]);
}

#[test]
fn a_wrong_level_is_refused_with_what_to_write() {
    for level in [
        "",
        "loud",
        "info,loud",
        "debug=",
        "=debug",
        "vmoperator=loud",
        "info,,debug",
    ] {
        let error = filter(level).unwrap_err().to_string();
        assert!(
            error.contains("write error, warn, info, debug, trace"),
            "{level}: {error}"
        );
    }
    for level in [
        "info",
        "WARN",
        "off",
        "info,vmoperator::runtime=trace",
        "debug, hyper=trace",
    ] {
        assert!(filter(level).is_ok(), "{level}");
    }
}

#[test]
fn trace_leaves_out_the_wire_unless_it_is_named() {
    let (lines, handle, _guard) = capture(Format::Json, "trace");
    tracing::trace!(target: "hyper::proto", "bytes");
    tracing::trace!(target: "kube_client::client", "headers");
    tracing::trace!("ours");
    assert_eq!(lines.json().len(), 1);
    handle.set_level("info,hyper=trace").unwrap();
    tracing::trace!(target: "hyper::proto", "bytes");
    assert_eq!(lines.json().len(), 2);
}

#[test]
fn a_panic_is_logged_by_its_place_and_not_by_its_message() {
    let (lines, _, _guard) = capture(Format::Json, "info");
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(super::log_panic));
    let caught = std::panic::catch_unwind(|| panic!("canary-credential"));
    std::panic::set_hook(hook);
    assert!(caught.is_err());
    let text = lines.text();
    assert!(
        text.contains("log/tests.rs") && !text.contains("canary-credential"),
        "{text}"
    );
}
