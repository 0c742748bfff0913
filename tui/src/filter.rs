//! Which machines are shown: words that all must hold.

use crate::age::Stamp;
use crate::message::Machine;

/// A filter as it was typed, and what it means.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Filter {
    /// As it was typed.
    pub(crate) text: String,
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq)]
struct Term {
    not: bool,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    /// In name, namespace, phase, provider, address, id or reason.
    Text(String),
    /// A field is one of these values.
    Is(Field, Vec<String>),
    /// A field is beyond a number.
    Beyond(Measure, bool, f64),
    /// A label has one of these values.
    Label(String, Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
    Phase,
    Ready,
    Provider,
    Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Age,
    Tries,
    Cpu,
}

impl Filter {
    /// Reads what was typed. Nothing that can be typed is wrong: what is no field is text.
    pub(crate) fn parse(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            terms: text.split_whitespace().filter_map(term).collect(),
        }
    }

    /// Whether a machine is shown.
    pub(crate) fn holds(&self, machine: &Machine, now: Stamp) -> bool {
        self.terms
            .iter()
            .all(|term| term.test.holds(machine, now) != term.not)
    }

    /// Whether everything is shown.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether what is shown changes with time alone.
    pub(crate) fn ages(&self) -> bool {
        let by_age = |term: &Term| matches!(term.test, Test::Beyond(Measure::Age, ..));
        self.terms.iter().any(by_age)
    }
}

fn term(word: &str) -> Option<Term> {
    let (not, word) = match word.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let values = |text: &str| text.to_lowercase().split(',').map(str::to_owned).collect();
    let test = if word.is_empty() {
        return None;
    } else if let Some((name, value)) = word.split_once('=') {
        match field(name) {
            Some(field) => Test::Is(field, values(value)),
            None => Test::Label(name.trim_start_matches("label:").to_owned(), values(value)),
        }
    } else if let Some(test) = beyond(word, '>').or_else(|| beyond(word, '<')) {
        test
    } else {
        Test::Text(word.to_lowercase())
    };
    Some(Term { not, test })
}

fn field(name: &str) -> Option<Field> {
    match name.to_lowercase().as_str() {
        "name" => Some(Field::Name),
        "ns" | "namespace" => Some(Field::Namespace),
        "phase" => Some(Field::Phase),
        "ready" => Some(Field::Ready),
        "provider" => Some(Field::Provider),
        "reason" => Some(Field::Reason),
        _other => None,
    }
}

fn beyond(word: &str, sign: char) -> Option<Test> {
    let (name, value) = word.split_once(sign)?;
    let measure = match name.to_lowercase().as_str() {
        "age" => Measure::Age,
        "tries" => Measure::Tries,
        "cpu" => Measure::Cpu,
        _other => return None,
    };
    Some(Test::Beyond(measure, sign == '>', number(value)?))
}

/// A number, or a time in seconds.
pub(crate) fn number(text: &str) -> Option<f64> {
    let units = [
        ("ms", 0.001),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
        ("", 1.0),
    ];
    units.iter().find_map(|(unit, factor)| {
        let digits = text.strip_suffix(unit)?;
        let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let value: f64 = plain.then(|| digits.parse().ok())??;
        Some(value * factor)
    })
}

impl Test {
    fn holds(&self, machine: &Machine, now: Stamp) -> bool {
        match self {
            Self::Text(text) => [
                &machine.name,
                &machine.namespace,
                machine.shown_phase(),
                &machine.provider,
                &machine.address,
                &machine.id,
                machine.trouble(),
            ]
            .iter()
            .any(|field| contains(field, text)),
            Self::Is(field, values) => values
                .iter()
                .any(|value| field.of(machine).eq_ignore_ascii_case(value)),
            Self::Label(name, values) => machine
                .labels
                .get(name)
                .is_some_and(|label| values.iter().any(|value| label.eq_ignore_ascii_case(value))),
            Self::Beyond(measure, above, bound) => {
                let value = match measure {
                    Measure::Age => now.seconds_since(machine.created),
                    Measure::Tries => f64::from(tries(machine)),
                    Measure::Cpu => f64::from(machine.cpu),
                };
                if *above {
                    value > *bound
                } else {
                    value < *bound
                }
            }
        }
    }
}

impl Field {
    fn of(self, machine: &Machine) -> &str {
        match self {
            Self::Name => &machine.name,
            Self::Namespace => &machine.namespace,
            Self::Phase => machine.shown_phase(),
            Self::Ready => machine.ready(),
            Self::Provider => &machine.provider,
            Self::Reason => machine.trouble(),
        }
    }
}

/// How often the operation in back-off was tried.
pub(crate) fn tries(machine: &Machine) -> u32 {
    machine.operation.as_ref().map_or(0, |one| one.attempts)
}

/// Whether `text` holds `part`, which is lower case.
fn contains(text: &str, part: &str) -> bool {
    if text.is_ascii() && part.is_ascii() {
        let (text, part) = (text.as_bytes(), part.as_bytes());
        return text
            .windows(part.len().max(1))
            .any(|window| window.eq_ignore_ascii_case(part));
    }
    text.to_lowercase().contains(part)
}

#[cfg(test)]
mod tests;
