//! Kubernetes quantities: `4Gi`, `512Mi`, `1500m`, `12e6`.
//!
//! Written here because the published parsers go through floating point or drop fractions (`0.5Gi` read as 0),
//! and a wrong size of a machine is paid for by its user.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Nano units in one unit.
const NANOS: i128 = 1_000_000_000;

/// Longest piece of a refused text that an error repeats, in characters.
const SHOWN: usize = 40;

/// A quantity as Kubernetes writes it, exact to a nano unit.
///
/// Two quantities are equal when their values are: `2048Mi` equals `2Gi`. The notation that it was read in is kept for
/// printing alone.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    notation: Notation,
}

/// Why a text is no quantity, or a quantity does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text is empty.
    #[error("quantity is empty: write a number with an optional suffix, such as 512Mi or 4Gi")]
    Empty,
    /// There is no number at the start.
    #[error("quantity {0:?} does not begin with a number: write it like 512Mi or 4Gi")]
    NoNumber(String),
    /// What follows the number is no suffix of Kubernetes.
    #[error(
        "quantity {0:?} has an unknown suffix: use one of n u m k M G T P E Ki Mi Gi Ti Pi Ei, an exponent such as e6, or none"
    )]
    UnknownSuffix(String),
    /// The value has no place in 128 bits of nano units.
    #[error("quantity {0:?} is out of range")]
    OutOfRange(String),
    /// The value is negative or more than 2^64 - 1 where bytes are asked for.
    #[error("quantity {0} is no number of bytes: it must be from 0 to 18446744073709551615")]
    NotBytes(Quantity),
}

/// The family of suffixes that a quantity was written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notation {
    /// `Ki` to `Ei`.
    Binary,
    /// `n` to `E`, and no suffix.
    Decimal,
    /// `e6`.
    Exponent,
}

/// What follows the number: units of the number are `scale` nano units, and the decimal point moves by `shift` digits.
struct Suffix {
    scale: i128,
    shift: i64,
    notation: Notation,
}

impl Quantity {
    /// Reads a quantity; more precise than a nano unit is rounded away from zero, as Kubernetes does.
    ///
    /// # Errors
    /// [`QuantityError`] for anything that is not sign, digits, fraction and a known suffix, or does not fit.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Empty);
        }
        let (negative, unsigned) = match text.as_bytes()[0] {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, rest) = split_digits(unsigned);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(QuantityError::NoNumber(shown(text)));
        }
        let out_of_range = || QuantityError::OutOfRange(shown(text));
        let suffix =
            Suffix::parse(suffix).ok_or_else(|| QuantityError::UnknownSuffix(shown(text)))?;
        let magnitude = magnitude(whole, fraction, &suffix).ok_or_else(out_of_range)?;
        Ok(Self {
            nanos: if negative { -magnitude } else { magnitude },
            notation: suffix.notation,
        })
    }

    /// A quantity of so many bytes, printed with binary suffixes.
    #[must_use]
    pub fn from_bytes(bytes: u64) -> Self {
        Self {
            nanos: i128::from(bytes) * NANOS,
            notation: Notation::Binary,
        }
    }

    /// The value in bytes, rounded up.
    ///
    /// # Errors
    /// [`QuantityError::NotBytes`] when it is negative or more than `u64::MAX`.
    pub fn bytes(&self) -> Result<u64, QuantityError> {
        let whole = ceil_div(self.nanos, NANOS);
        match u64::try_from(whole) {
            Ok(bytes) if self.nanos >= 0 => Ok(bytes),
            Ok(_) | Err(_) => Err(QuantityError::NotBytes(*self)),
        }
    }

    /// The value in nano units (10⁻⁹).
    #[must_use]
    pub fn nanos(&self) -> i128 {
        self.nanos
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

/// Canonical form: no fraction, the largest suffix of its notation that loses nothing.
///
/// A binary quantity that is no multiple of 1024 is printed in decimal notation: `0.5Ki` is `512`.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.notation {
            Notation::Binary if self.nanos != 0 && self.nanos % (1024 * NANOS) == 0 => {
                let (number, steps) = strip(self.nanos / NANOS, 1024, 6);
                let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][steps];
                write!(f, "{number}{suffix}")
            }
            Notation::Binary | Notation::Decimal => {
                let (number, steps) = strip(self.nanos, 1000, 9);
                let suffix = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"][steps];
                write!(f, "{number}{suffix}")
            }
            Notation::Exponent => {
                let (number, steps) = strip(self.nanos, 1000, 12);
                match steps {
                    3 => write!(f, "{number}"),
                    steps if steps > 3 => write!(f, "{number}e{}", (steps - 3) * 3),
                    steps => write!(f, "{number}e-{}", (3 - steps) * 3),
                }
            }
        }
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Self::parse(text)
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl de::Visitor<'_> for Text {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity string such as 4Gi")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
                Quantity::parse(text).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

impl Suffix {
    fn parse(text: &str) -> Option<Self> {
        const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
        const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
        if let Some(at) = DECIMAL.iter().position(|suffix| *suffix == text) {
            let scale = (0..at).fold(1, |scale, _| scale * 1000);
            return Some(Self::plain(scale, Notation::Decimal));
        }
        if let Some(at) = BINARY.iter().position(|suffix| *suffix == text) {
            return Some(Self::plain(NANOS << (10 * (at + 1)), Notation::Binary));
        }
        let exponent = text.strip_prefix(['e', 'E'])?;
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        // An exponent that does not parse has too many digits. No value is that large or small; clamping keeps it so.
        let far = if exponent.starts_with('-') {
            -1_000_000
        } else {
            1_000_000
        };
        let shift = exponent
            .parse::<i64>()
            .map_or(far, |shift| shift.clamp(-1_000_000, 1_000_000));
        Some(Self {
            scale: NANOS,
            shift,
            notation: Notation::Exponent,
        })
    }

    fn plain(scale: i128, notation: Notation) -> Self {
        Self {
            scale,
            shift: 0,
            notation,
        }
    }
}

/// The number in nano units, rounded up; `None` when it does not fit.
fn magnitude(whole: &str, fraction: &str, suffix: &Suffix) -> Option<i128> {
    let digits: Vec<i128> = whole
        .bytes()
        .chain(fraction.bytes())
        .map(|byte| i128::from(byte - b'0'))
        .collect();
    if digits.iter().all(|digit| *digit == 0) {
        return Some(0);
    }
    let point = i64::try_from(whole.len()).ok()? + suffix.shift;
    let before = usize::try_from(point).unwrap_or(0);
    let mut number: i128 = 0;
    for at in 0..before {
        // Leading zeros may be many; past the digits every step multiplies, so that this ends by overflow.
        let digit = digits.get(at).copied().unwrap_or(0);
        number = number.checked_mul(10)?.checked_add(digit)?;
    }
    let number = number.checked_mul(suffix.scale)?;
    // From the last digit to the point, rounding up each time: ⌈(a + x) / 10⌉ = ⌈(a + ⌈x⌉) / 10⌉ for whole a.
    let mut part: i128 = 0;
    for digit in digits.iter().skip(before).rev() {
        part = ceil_div(digit * suffix.scale + part, 10);
    }
    // Zeros between the point and the first digit. A positive rest never falls below one, so a few steps do.
    for _ in 0..point.min(0).unsigned_abs().min(64) {
        part = ceil_div(part, 10);
    }
    number.checked_add(part)
}

/// Divides out `base` as often as it goes, at most `most` times; says how often.
fn strip(mut number: i128, base: i128, most: usize) -> (i128, usize) {
    let mut steps = 0;
    if number == 0 {
        // Zero is printed without a suffix: nano units are three steps below the plain unit.
        return (0, 3);
    }
    while steps < most && number % base == 0 {
        number /= base;
        steps += 1;
    }
    (number, steps)
}

/// Division that rounds up; `by` is positive.
fn ceil_div(number: i128, by: i128) -> i128 {
    let whole = number.div_euclid(by);
    if number.rem_euclid(by) == 0 {
        whole
    } else {
        whole + 1
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn shown(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain("…".chars()).collect()
}

#[cfg(test)]
mod tests;
