//! What became of events.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// Counts of events by what became of them. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct EventMetrics(Family<Label, Counter>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Label {
    result: &'static str,
}

/// What becomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Written as one of its own.
    Created,
    /// Counted in the series of an earlier one.
    Repeated,
    /// Dropped: the queue was full.
    Full,
    /// Dropped: too many of one object.
    Limited,
    /// Dropped: the API server refused it.
    Refused,
    /// Perhaps written: the API server did not answer.
    Unanswered,
}

impl Ending {
    const ALL: [Self; 6] = [
        Self::Created,
        Self::Repeated,
        Self::Full,
        Self::Limited,
        Self::Refused,
        Self::Unanswered,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Repeated => "repeated",
            Self::Full => "dropped_queue_full",
            Self::Limited => "dropped_object_limit",
            Self::Refused => "dropped_refused",
            Self::Unanswered => "dropped_no_answer",
        }
    }
}

impl EventMetrics {
    /// Registers them, with every series at zero; once per process.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        for ending in Ending::ALL {
            let _ = metrics.counter(ending);
        }
        registry.register(
            "vmoperator_events",
            "Kubernetes events by what became of them; dropped ones were not written",
            metrics.0.clone(),
        );
        metrics
    }

    pub(super) fn count(&self, ending: Ending) {
        self.counter(ending).inc();
    }

    fn counter(&self, ending: Ending) -> Counter {
        let label = Label {
            result: ending.label(),
        };
        self.0.get_or_create(&label).clone()
    }

    #[cfg(test)]
    pub(super) fn of(&self, ending: Ending) -> u64 {
        self.counter(ending).get()
    }
}
