//! Conditions under which a run counts as failed: `p99>2s or queue.oldest>60s`.

use crate::filter::number;
use crate::numbers::{Counter, Series};
use crate::world::{Leader, World};

/// Comparisons of which one has to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    any: Vec<Comparison>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// None of them holds.
    Within,
    /// This one holds, and what was measured.
    Beyond(String),
    /// This one cannot be judged, because nothing was measured.
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq)]
struct Comparison {
    text: String,
    measure: Measure,
    above: bool,
    bound: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Measure {
    /// A percentile, of one operation or of all but the long poll.
    Percentile(f64, Option<String>),
    Ready,
    Delayed,
    Oldest,
    /// Failed passes per second.
    Errors,
    Machines,
    NotReady,
    Failed,
    /// 1 while somebody leads.
    Leaders,
}

/// What can be compared; for messages.
const MEASURES: &str = "p50, p95, p99 (of all operations, or p99.create), queue.ready, queue.delayed, queue.oldest, errors, vms, notready, failed, leaders";

impl Threshold {
    /// Reads comparisons with `or` between them.
    ///
    /// # Errors
    /// One of them cannot be understood; the text says what can be written.
    pub fn parse(text: &str) -> Result<Self, String> {
        let any: Result<Vec<_>, _> = text.split(" or ").map(comparison).collect();
        Ok(Self { any: any? })
    }

    /// Judges what was measured. No observation within the window is within a bound of time: nothing took longer.
    #[must_use]
    pub fn judge(&self, world: &World) -> Verdict {
        let mut unknown = None;
        for one in &self.any {
            match one.measure.of(world) {
                Some(value) if one.holds(value) => {
                    return Verdict::Beyond(format!("{}: it is {value:.3}", one.text));
                }
                Some(_) => {}
                None => unknown = unknown.or(Some(one.text.clone())),
            }
        }
        unknown.map_or(Verdict::Within, Verdict::Unknown)
    }
}

impl Comparison {
    fn holds(&self, value: f64) -> bool {
        if self.above {
            value > self.bound
        } else {
            value < self.bound
        }
    }
}

fn comparison(text: &str) -> Result<Comparison, String> {
    let text: String = text.split_whitespace().collect();
    let wrong = |why: String| {
        format!(
            "{why}; write MEASURE>NUMBER or MEASURE<NUMBER with {MEASURES}; times with ms, s or m"
        )
    };
    let at = text
        .find(['<', '>'])
        .ok_or_else(|| wrong(format!("{text:?} compares nothing")))?;
    let (name, rest) = text.split_at(at);
    let value = rest.get(1..).unwrap_or_default();
    let bound = number(value).ok_or_else(|| wrong(format!("{value:?} is no number")))?;
    let measure = measure(name).ok_or_else(|| wrong(format!("{name:?} is not measured")))?;
    Ok(Comparison {
        above: rest.starts_with('>'),
        measure,
        bound,
        text,
    })
}

fn measure(name: &str) -> Option<Measure> {
    let (first, operation) = match name.split_once('.') {
        Some((first, rest)) => (first, Some(rest.to_owned())),
        None => (name, None),
    };
    let percentile = match first {
        "p50" => Some(0.50),
        "p95" => Some(0.95),
        "p99" => Some(0.99),
        _other => None,
    };
    if let Some(q) = percentile {
        return Some(Measure::Percentile(q, operation));
    }
    match name {
        "queue.ready" => Some(Measure::Ready),
        "queue.delayed" => Some(Measure::Delayed),
        "queue.oldest" => Some(Measure::Oldest),
        "errors" => Some(Measure::Errors),
        "vms" => Some(Measure::Machines),
        "notready" => Some(Measure::NotReady),
        "failed" => Some(Measure::Failed),
        "leaders" => Some(Measure::Leaders),
        _other => None,
    }
}

impl Measure {
    fn of(&self, world: &World) -> Option<f64> {
        let machines = |wanted: fn(&crate::message::Machine) -> bool| {
            let count = world.machines.values().filter(|one| wanted(one)).count();
            world.listed.then_some(count as f64)
        };
        match self {
            Self::Percentile(q, operation) => {
                let wanted = |series: &Series| match operation {
                    Some(operation) => series.operation == *operation,
                    None => series.operation != "changes",
                };
                let any = |counter: &Counter| matches!(counter, Counter::Passes(_));
                // Measured at all, though no call fell into the window.
                world.numbers.rate(world.now, any)?;
                let estimate = world.numbers.percentile(world.now, *q, wanted);
                Some(estimate.map_or(0.0, crate::numbers::Estimate::seconds))
            }
            Self::Ready => world.leading()?.1.ready,
            Self::Delayed => world.leading()?.1.delayed,
            Self::Oldest => world.leading()?.1.oldest,
            Self::Errors => world.numbers.rate(
                world.now,
                |counter| matches!(counter, Counter::Passes(result) if result == "error"),
            ),
            Self::Machines => machines(|_| true),
            Self::NotReady => machines(|one| one.ready() != "yes"),
            Self::Failed => machines(|one| matches!(one.shown_phase(), "Failed" | "Lost")),
            Self::Leaders => match world.leader() {
                Leader::Unknown => None,
                Leader::Nobody { .. } => Some(0.0),
                Leader::Holder(_) | Leader::Agreed(_) | Leader::Unconfirmed(_) => Some(1.0),
                Leader::Disputed(names) => Some(names.len() as f64),
            },
        }
    }
}

#[cfg(test)]
mod tests;
