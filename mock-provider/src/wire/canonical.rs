//! Bodies as canonical JSON (after RFC 8785): two bodies are the same request when they say the same, however spelled.

use std::fmt::Write as _;

use serde_json::Value;

use crate::world::Digest;

/// Boils a JSON value down.
pub(super) fn digest(value: &Value) -> Digest {
    let mut text = String::new();
    write(value, &mut text);
    boil(b'j', text.as_bytes())
}

/// Boils a body down that is no JSON; never equal to one that is.
pub(super) fn digest_raw(body: &[u8]) -> Digest {
    boil(b'r', body)
}

/// FNV-1a with 128 bits: stable over versions of this program, since digests are saved.
pub(super) fn boil(kind: u8, bytes: &[u8]) -> Digest {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let all = std::iter::once(&kind).chain(bytes);
    Digest(all.fold(OFFSET, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(PRIME)
    }))
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (name, member) in members {
                write_text(name, out);
                out.push(':');
                write(member, out);
                out.push(',');
            }
            out.push('}');
        }
    }
}

/// 2, 2.0 and 2e0 are one number.
fn write_number(number: &serde_json::Number, out: &mut String) {
    /// Whole numbers up to here are exact in a double.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = number.as_f64().filter(|value| {
        !number.is_i64() && !number.is_u64() && value.fract() == 0.0 && value.abs() <= EXACT
    });
    let written = match whole {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within the exact range"
        )]
        Some(value) => write!(out, "{}", value as i64),
        None => write!(out, "{number}"),
    };
    // Writing to a String does not fail.
    debug_assert!(written.is_ok());
}

fn write_text(text: &str, out: &mut String) {
    out.push_str(&Value::from(text).to_string());
}
