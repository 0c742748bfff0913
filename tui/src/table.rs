//! The order of the table: which machines it shows, and how they are sorted.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use crate::filter::{Filter, tries};
use crate::message::Machine;
use crate::world::{World, rank};

/// Columns of the table, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    Namespace,
    Name,
    Phase,
    Ready,
    Cpu,
    Memory,
    Provider,
    Address,
    Age,
    Tries,
    Next,
    Trouble,
}

impl Column {
    /// All of them.
    pub(crate) const ALL: [Self; 12] = [
        Self::Namespace,
        Self::Name,
        Self::Phase,
        Self::Ready,
        Self::Cpu,
        Self::Memory,
        Self::Provider,
        Self::Address,
        Self::Age,
        Self::Tries,
        Self::Next,
        Self::Trouble,
    ];

    /// Its heading.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::Namespace => "NAMESPACE",
            Self::Name => "NAME",
            Self::Phase => "PHASE",
            Self::Ready => "READY",
            Self::Cpu => "CPU",
            Self::Memory => "MEM",
            Self::Provider => "PROVIDER",
            Self::Address => "IP",
            Self::Age => "AGE",
            Self::Tries => "TRIES",
            Self::Next => "NEXT",
            Self::Trouble => "WHY",
        }
    }

    fn compare(self, one: &Machine, other: &Machine) -> Ordering {
        match self {
            Self::Namespace => one.namespace.cmp(&other.namespace),
            Self::Name => one.name.cmp(&other.name),
            Self::Phase => rank(one.shown_phase()).cmp(&rank(other.shown_phase())),
            Self::Ready => one.ready().cmp(other.ready()),
            Self::Cpu => one.cpu.cmp(&other.cpu),
            Self::Memory => bytes(&one.memory).total_cmp(&bytes(&other.memory)),
            Self::Provider => one.provider.cmp(&other.provider),
            Self::Address => one.address.cmp(&other.address),
            // The youngest first, as ages grow.
            Self::Age => Reverse(one.created).cmp(&Reverse(other.created)),
            Self::Tries => tries(one).cmp(&tries(other)),
            Self::Next => next(one).cmp(&next(other)),
            Self::Trouble => one.trouble().cmp(other.trouble()),
        }
    }
}

/// By which column the table is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sort {
    pub(crate) column: Column,
    pub(crate) turned: bool,
}

impl Sort {
    /// Sorts by a column, or turns the order round if it is that one already.
    pub(crate) fn by(&mut self, column: Column) {
        if self.column == column {
            self.turned = !self.turned;
        } else {
            // What is tried most often is what is looked for.
            let turned = column == Column::Tries;
            *self = Self { column, turned };
        }
    }

    /// Sorts by the column that stands `step` further.
    pub(crate) fn step(&mut self, step: isize) {
        let all = Column::ALL;
        let at = all.iter().position(|column| *column == self.column);
        let to = at.unwrap_or(0).saturating_add_signed(step);
        if let Some(column) = all.get(to)
            && *column != self.column
        {
            self.by(*column);
        }
    }

    /// Whether a change of a machine leaves it where it is.
    pub(crate) fn same_place(&self, before: &Machine, after: &Machine) -> bool {
        self.compare(before, after) == Ordering::Equal
    }

    /// Which of two machines comes first; never equal for two different ones.
    pub(crate) fn compare(&self, one: &Machine, other: &Machine) -> Ordering {
        let order = self.column.compare(one, other);
        let order = if self.turned { order.reverse() } else { order };
        // Stable whatever comes: by name and uid in the end.
        order
            .then_with(|| one.name.cmp(&other.name))
            .then_with(|| one.namespace.cmp(&other.namespace))
            .then_with(|| one.uid.cmp(&other.uid))
    }
}

/// The machines that a filter shows, sorted.
pub(crate) fn arranged(
    world: &World,
    filter: &Filter,
    namespace: Option<&str>,
    sort: Sort,
) -> Vec<Arc<Machine>> {
    let shown = |machine: &&Arc<Machine>| {
        namespace.is_none_or(|namespace| machine.namespace == namespace)
            && filter.holds(machine, world.now)
    };
    let mut rows: Vec<Arc<Machine>> = world.machines.values().filter(shown).cloned().collect();
    rows.sort_by(|one, other| sort.compare(one, other));
    rows
}

fn next(machine: &Machine) -> Option<crate::age::Stamp> {
    machine.operation.as_ref()?.next
}

/// A quantity of memory, for sorting only.
fn bytes(text: &str) -> f64 {
    let end = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor: f64 = match unit {
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        "Ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _other => 1.0,
    };
    digits.parse().unwrap_or(0.0) * factor
}

#[cfg(test)]
mod tests;
