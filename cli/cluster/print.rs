//! Objects on stdout: `-o name` and `-o json` byte for byte as kubectl prints them, `-o yaml` equal once parsed.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, PrettyFormatter, Serializer};
use serde_json::{Value, json};

use super::kind::Kind;
use super::object::{Object, reference};
use crate::hint::{Exit, Failure};
use crate::output;

/// A form for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Encoding {
    /// Kind and name.
    Name,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// Prints one object.
///
/// # Errors
/// Nobody reads stdout any more.
pub(crate) fn object(object: Value, kind: Kind, encoding: Encoding) -> Result<(), Failure> {
    match encoding {
        Encoding::Name => output::data(&reference(kind, Object(&object).name())),
        Encoding::Json => output::data(&json(&shown(object), io::stdout().is_terminal())?),
        Encoding::Yaml => output::data(&yaml(&shown(object))?),
    }
}

/// Prints objects as a list.
///
/// # Errors
/// Nobody reads stdout any more.
pub(crate) fn list(objects: Vec<Value>, kind: Kind, encoding: Encoding) -> Result<(), Failure> {
    if encoding == Encoding::Name {
        let names = objects
            .iter()
            .map(|object| reference(kind, Object(object).name()));
        let names: Vec<String> = names.collect();
        return if names.is_empty() {
            Ok(())
        } else {
            output::data(&names.join("\n"))
        };
    }
    let items: Vec<Value> = objects.into_iter().map(shown).collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items, "metadata": { "resourceVersion": "" } });
    object(list, kind, encoding)
}

/// One object as JSON.
///
/// # Errors
/// It cannot be written.
pub(crate) fn json_text(object: &Value) -> Result<String, Failure> {
    json(&shown(object.clone()), io::stdout().is_terminal())
}

/// One object as YAML.
///
/// # Errors
/// It cannot be written.
pub(crate) fn yaml_text(object: &Value) -> Result<String, Failure> {
    yaml(&shown(object.clone()))
}

/// Who owns which field is left out, as kubectl leaves it out.
fn shown(mut object: Value) -> Value {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    object
}

/// JSON as kubectl writes it: fields in order of their names, four blanks, and what HTML minds escaped.
fn json(value: &Value, terminal: bool) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let style = Style {
        pretty: PrettyFormatter::with_indent(b"    "),
        terminal,
    };
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, style))
        .map_err(|error| unprintable(&error))?;
    String::from_utf8(bytes).map_err(|error| unprintable(&error))
}

fn yaml(value: &Value) -> Result<String, Failure> {
    let text = serde_saphyr::to_string(value).map_err(|error| unprintable(&error))?;
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

fn unprintable(error: &dyn std::error::Error) -> Failure {
    Failure::new(
        Exit::Failure,
        "VMC-PRINT",
        format!("cannot print an object: {error}"),
    )
    .fix("print it in another form: -o json, -o yaml or -o name")
}

struct Style<'a> {
    pretty: PrettyFormatter<'a>,
    /// On a terminal what could drive it is escaped too; it is the same JSON.
    terminal: bool,
}

impl Style<'_> {
    fn is_escaped(&self, c: char) -> bool {
        matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') || (self.terminal && c.is_control())
    }
}

impl Formatter for Style<'_> {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(|c| self.is_escaped(c)) {
            let (plain, tail) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let mut chars = tail.chars();
            if let Some(c) = chars.next() {
                write!(writer, "\\u{:04x}", u32::from(c))?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }

    fn write_char_escape<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        self.pretty.write_char_escape(writer, escape)
    }

    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_array(writer)
    }

    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_array(writer)
    }

    fn begin_array_value<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.pretty.begin_array_value(writer, first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_array_value(writer)
    }

    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_object(writer)
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_object(writer)
    }

    fn begin_object_key<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.pretty.begin_object_key(writer, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(writer)
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests;
