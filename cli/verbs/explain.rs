//! `vmctl explain`: the fields of our kinds, from the definitions that are part of this program. No cluster is asked.

use std::fmt::Write;

use serde_json::Value;
use vmoperator::api::{GROUP, VERSION};

use crate::cluster::kind::{Kind, kind};
use crate::env::manifests;
use crate::hint::{Exit, Failure, ids};
use crate::output;

/// Columns that a description may fill.
const COLUMNS: usize = 76;

const EXAMPLES: &str = "\
Examples:
  vmctl explain vm
  vmctl explain vm.spec.memory
  vmctl explain pcfg.spec --recursive
  vmctl explain VMC-LOCKED

Exits with 4 when there is no such field.";

/// Options of `vmctl explain`.
#[derive(Debug, clap::Args)]
#[group(id = "explain")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// vm or pcfg, and the way to a field, such as vm.spec.memory; or the id of an error
    #[arg(value_name = "KIND[.FIELD]")]
    path: String,
    /// Show the fields of fields, too, without descriptions
    #[arg(long)]
    recursive: bool,
}

/// Explains a field.
///
/// # Errors
/// There is no such kind or field.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.path.to_uppercase().starts_with("VMC-") {
        return id(&args.path);
    }
    let (word, fields) = split(&args.path);
    let kind = kind(word, &[Kind::VirtualMachine, Kind::ProviderConfig])?;
    let root = schema(kind)?;
    let mut at = &root;
    let mut required = false;
    for field in &fields {
        let parent = inner(at);
        let next = parent["properties"].get(*field);
        at = next.ok_or_else(|| unknown(&args.path, field, parent))?;
        required = is_required(parent, field);
    }
    output::data(&text(kind, &fields, at, required, args.recursive))
}

/// What an error id means.
fn id(word: &str) -> Result<(), Failure> {
    match ids::find(word) {
        Some(entry) => output::data(&format!(
            "{}\n\n{}\n\nWhat helps: {}",
            entry.id, entry.meaning, entry.help
        )),
        None => {
            let cause = format!("there is no error id {word}");
            Err(Failure::new(Exit::NotFound, "VMC-NOT-FOUND", cause)
                .fix("all of them are in docs/reference/errors.md"))
        }
    }
}

/// The kind may itself be written with dots: `virtualmachines.compute.example.com`.
fn split(path: &str) -> (&str, Vec<&str>) {
    for suffix in [format!(".{VERSION}.{GROUP}"), format!(".{GROUP}")] {
        if let Some(end) = path.find(&suffix) {
            let rest = path.get(end + suffix.len()..).unwrap_or_default();
            let word = path.get(..end).unwrap_or(path);
            return (
                word,
                rest.split('.').filter(|field| !field.is_empty()).collect(),
            );
        }
    }
    let mut parts = path.split('.');
    (
        parts.next().unwrap_or_default(),
        parts.filter(|field| !field.is_empty()).collect(),
    )
}

fn schema(kind: Kind) -> Result<Value, Failure> {
    for definition in manifests::objects(manifests::DEFINITIONS)? {
        let spec = &definition.data["spec"];
        if spec["names"]["kind"] == kind.kind() {
            let mut schema = spec["versions"][0]["schema"]["openAPIV3Schema"].clone();
            complete(&mut schema);
            return Ok(schema);
        }
    }
    let cause = format!("this vmctl has no definition of {}", kind.kind());
    Err(Failure::new(Exit::Failure, "VMC-MANIFEST", cause).fix("install vmctl anew"))
}

/// What every object has and a definition need not say.
fn complete(schema: &mut Value) {
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        let text = |words: &str| serde_json::json!({ "type": "string", "description": words });
        fields.insert(
            "apiVersion".to_owned(),
            text("Group and version of the kind."),
        );
        fields.insert("kind".to_owned(), text("The kind."));
        if let Some(metadata) = fields.get_mut("metadata") {
            metadata["description"] =
                "Name, namespace, labels and annotations, as every object has them.".into();
        }
    }
}

/// The schema that has the fields: a list's are those of its items.
fn inner(schema: &Value) -> &Value {
    if schema["type"] == "array" {
        &schema["items"]
    } else {
        schema
    }
}

fn unknown(path: &str, field: &str, parent: &Value) -> Failure {
    let names: Vec<&str> = parent["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    let cause = format!("there is no field {field:?} in {path}");
    let fix = if names.is_empty() {
        "it has no fields; leave out the last one".to_owned()
    } else {
        format!("fields there: {}", names.join(", "))
    };
    Failure::new(Exit::NotFound, "VMC-NO-FIELD", cause).fix(fix)
}

fn text(kind: Kind, fields: &[&str], at: &Value, required: bool, recursive: bool) -> String {
    let mut text = format!(
        "GROUP:      {GROUP}\nKIND:       {}\nVERSION:    {VERSION}\n",
        kind.kind()
    );
    if let Some(field) = fields.last() {
        let _ = writeln!(text, "\nFIELD: {field} <{}>{}", type_of(at), mark(required));
    }
    text.push_str("\nDESCRIPTION:\n");
    text.push_str(&described(at, 4));
    let has_fields = inner(at)["properties"]
        .as_object()
        .is_some_and(|fields| !fields.is_empty());
    if has_fields {
        text.push_str("\nFIELDS:\n");
        list(&mut text, inner(at), 2, recursive);
    }
    text.trim_end().to_owned()
}

fn list(text: &mut String, schema: &Value, indent: usize, recursive: bool) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let required = is_required(schema, name);
        let _ = writeln!(
            text,
            "{:indent$}{name} <{}>{}",
            "",
            type_of(field),
            mark(required)
        );
        if recursive {
            list(text, inner(field), indent + 2, recursive);
        } else {
            text.push_str(&described(field, indent + 2));
            text.push('\n');
        }
    }
}

fn is_required(parent: &Value, field: &str) -> bool {
    parent["required"]
        .as_array()
        .is_some_and(|list| list.iter().any(|one| one == field))
}

fn mark(required: bool) -> &'static str {
    if required { " -required-" } else { "" }
}

fn type_of(schema: &Value) -> String {
    let word = schema["type"].as_str().unwrap_or("any");
    match word {
        "array" => format!("[]{}", type_of(&schema["items"])),
        "object" => "Object".to_owned(),
        other => other.to_owned(),
    }
}

/// Description, choices, bounds, default, and what the API server's rules say.
fn described(schema: &Value, indent: usize) -> String {
    let mut lines = vec![
        schema["description"]
            .as_str()
            .unwrap_or("Not described.")
            .to_owned(),
    ];
    if let Some(choices) = schema["enum"].as_array() {
        let words: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        lines.push(format!("One of: {}.", words.join(", ")));
    }
    if let Some(bounds) = bounds(schema) {
        lines.push(bounds);
    }
    if let Some(default) = schema.get("default") {
        lines.push(format!("Default: {default}."));
    }
    for rule in schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        if let Some(message) = rule["message"].as_str() {
            lines.push(format!("Rule: {message}."));
        }
    }
    lines.iter().map(|line| wrapped(line, indent)).collect()
}

fn bounds(schema: &Value) -> Option<String> {
    let pairs = [
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
    ];
    pairs
        .into_iter()
        .find_map(|(low, high, unit)| match (&schema[low], &schema[high]) {
            (Value::Null, Value::Null) => None,
            (low, Value::Null) => Some(format!("At least {low}{unit}.")),
            (Value::Null, high) => Some(format!("At most {high}{unit}.")),
            (low, high) => Some(format!("{low} to {high}{unit}.")),
        })
}

fn wrapped(text: &str, indent: usize) -> String {
    let blank = " ".repeat(indent);
    let mut lines = String::new();
    let mut line = blank.clone();
    for word in text.split_whitespace() {
        if line.len() > indent && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines.push_str(&line);
            lines.push('\n');
            line.clone_from(&blank);
        }
        if line.len() > indent {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push_str(&line);
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_kind_and_fields_however_the_kind_is_written() {
        assert_eq!(split("vm.spec.memory"), ("vm", vec!["spec", "memory"]));
        assert_eq!(
            split("virtualmachines.v1.compute.example.com.spec"),
            ("virtualmachines", vec!["spec"])
        );
        assert_eq!(split("pcfg"), ("pcfg", vec![]));
    }

    #[test]
    fn every_field_of_every_kind_is_described() {
        for kind in [Kind::VirtualMachine, Kind::ProviderConfig] {
            let mut open = vec![("".to_owned(), schema(kind).unwrap())];
            while let Some((path, schema)) = open.pop() {
                if path != ".metadata.name" {
                    assert!(schema["description"].is_string(), "{}{path}", kind.kind());
                }
                if path.ends_with("conditions") {
                    continue;
                }
                for (name, field) in inner(&schema)["properties"]
                    .as_object()
                    .into_iter()
                    .flatten()
                {
                    open.push((format!("{path}.{name}"), field.clone()));
                }
            }
        }
    }

    #[test]
    fn bounds_choices_defaults_and_rules_are_told() {
        let root = schema(Kind::VirtualMachine).unwrap();
        let cpu = described(&root["properties"]["spec"]["properties"]["cpu"], 0);
        assert!(cpu.contains("1 to 512."), "{cpu}");
        let memory = described(&root["properties"]["spec"]["properties"]["memory"], 0);
        assert!(
            memory.contains("Rule: memory must be a quantity"),
            "{memory}"
        );
        let protocol = &root["properties"]["spec"]["properties"]["service"]["properties"]["ports"]
            ["items"]["properties"]["protocol"];
        let protocol = described(protocol, 0);
        assert!(
            protocol.contains("One of: TCP, UDP, SCTP.") && protocol.contains("Default: \"TCP\"."),
            "{protocol}"
        );
        assert!(memory.lines().all(|line| line.chars().count() <= COLUMNS));
    }
}
