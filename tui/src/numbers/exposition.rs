//! Prometheus' text form, read leniently: a line that cannot be understood is skipped, the others count.

/// One line of an exposition.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample<'a> {
    /// Name of the metric, suffixes such as `_bucket` included.
    pub name: &'a str,
    /// Labels in the order of the line.
    pub labels: Vec<(&'a str, String)>,
    /// Its value; infinities and NaN as they stand.
    pub value: f64,
}

impl Sample<'_> {
    /// The value of a label; empty without it, as Prometheus has it.
    #[must_use]
    pub fn label(&self, name: &str) -> &str {
        let found = self.labels.iter().find(|(label, _)| *label == name);
        found.map_or("", |(_, value)| value)
    }
}

/// Every sample of an exposition that can be read.
#[must_use]
pub fn parse(text: &str) -> Vec<Sample<'_>> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Sample<'_>> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let end = line.find(|c: char| c == '{' || c.is_whitespace())?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let value = rest.split_whitespace().next()?;
    let value = match value {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        other => other.parse().ok()?,
    };
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    name.starts_with(begins).then_some(Sample {
        name,
        labels,
        value,
    })
}

type Labels<'a> = Vec<(&'a str, String)>;

/// Labels behind the opening brace, and what follows the closing one.
fn labels(mut rest: &str) -> Option<(Labels<'_>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start().trim_start_matches(',').trim_start();
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, value) = rest.split_once('=')?;
        let quoted = value.trim_start().strip_prefix('"')?;
        let (value, after) = unquoted(quoted)?;
        labels.push((name.trim(), value));
        rest = after;
    }
}

/// Text up to the closing quote with its escapes undone, and what follows it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}
