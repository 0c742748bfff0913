//! What is known of the cluster and of the operator: facts alone, nothing of how they are looked at.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::age::Stamp;
use crate::message::{
    Config, Context, Event, Health, Lease, LogLine, Machine, Message, Outlet, QueueLine,
    ReplicaState, Source,
};
use crate::numbers::{Levels, Numbers};

/// Most events that are kept.
const EVENTS: usize = 500;
/// Most lines of logs that are kept.
const LOGS: usize = 2000;
/// Most changes of leader that are kept.
const HANDOVERS: usize = 64;
/// Most changes of conditions that are kept of one machine.
const TURNS: usize = 64;
/// Of so many machines.
const TURNING: usize = 4000;
/// A replica that was silent for so long does not count as there, in seconds.
pub(crate) const SILENT: f64 = 10.0;

/// Everything that is known. A clone is cheap: what is large is shared.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// What time it is.
    pub now: Stamp,
    /// What is looked at.
    pub context: Context,
    /// Whether every machine that exists was told.
    pub listed: bool,
    /// Machines by uid.
    pub machines: BTreeMap<String, Arc<Machine>>,
    /// How many machines are in each phase as it is shown.
    counts: BTreeMap<String, usize>,
    /// How conditions changed since the dashboard looks, by uid, oldest first.
    pub turns: BTreeMap<String, VecDeque<Turn>>,
    /// ProviderConfigs by uid.
    pub configs: BTreeMap<String, Config>,
    /// The Lease as it was last read.
    pub lease: Option<Lease>,
    /// Changes of leader, oldest first.
    pub handovers: VecDeque<Handover>,
    /// Events, the latest last.
    pub events: VecDeque<Arc<Event>>,
    /// Lines of logs, the latest last.
    pub logs: VecDeque<Arc<LogLine>>,
    /// How many lines were lost because more came than can be read.
    pub dropped: u64,
    /// How each source is, and since when.
    pub sources: BTreeMap<Source, Standing>,
    /// Inner state by replica.
    pub states: BTreeMap<String, Arc<ReplicaState>>,
    /// What was measured.
    pub numbers: Numbers,
}

/// A condition has become different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// When.
    pub at: Stamp,
    /// Type of the condition.
    pub kind: String,
    /// What it was before; empty when there was none.
    pub from: String,
}

/// Another one leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// When it was seen.
    pub at: Stamp,
    /// Who led; empty for nobody.
    pub from: String,
    /// Who leads; empty for nobody.
    pub to: String,
}

/// How a source is, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// How it is.
    pub health: Health,
    /// Since when it is so.
    pub since: Stamp,
    /// When it was last good.
    pub good: Option<Stamp>,
}

/// Who leads, by what the Lease and the replicas say.
#[derive(Clone, Debug, PartialEq)]
pub enum Leader {
    /// Nothing is known yet.
    Unknown,
    /// Nobody: the Lease ran out so many seconds ago, or there is none.
    Nobody {
        /// Seconds since it ran out.
        expired: Option<f64>,
    },
    /// This one, by the Lease alone: no replica can be asked.
    Holder(String),
    /// This one: Lease and replica agree.
    Agreed(String),
    /// The Lease names one, and no replica takes itself for the leader.
    Unconfirmed(String),
    /// More than one takes itself for the leader.
    Disputed(Vec<String>),
}

impl World {
    /// Takes a fact. Messages that are no facts change nothing.
    pub fn take(&mut self, message: Message) {
        match message {
            Message::Tick { now } => self.now = self.now.max(now),
            Message::Context(context) => self.context = context,
            Message::Machines { list } => list.into_iter().for_each(|one| self.machine(one)),
            Message::Gone { uid } => self.gone(&uid),
            Message::Listed => self.listed = true,
            Message::Config(config) => {
                self.configs.insert(config.uid.clone(), config);
            }
            Message::ConfigGone { uid } => {
                self.configs.remove(&uid);
            }
            Message::Lease(lease) => self.lease(lease),
            Message::Scrape { replica, at, text } => self.numbers.take(&replica, at, &text),
            Message::State { replica, state } => {
                self.states.insert(replica, Arc::new(state));
            }
            Message::ReplicaGone { replica, .. } => self.replica_gone(&replica),
            Message::Event(event) => self.event(event),
            Message::Logs { lines, dropped } => self.logs(lines, dropped),
            Message::Source { source, health, at } => self.source(source, health, at),
            Message::Resize { .. }
            | Message::Key { .. }
            | Message::Done(_)
            | Message::Text { .. } => {}
        }
    }

    /// How many machines are in each phase: the known ones in their order, others last.
    #[must_use]
    pub fn phases(&self) -> Vec<(&str, usize)> {
        let counts = self.counts.iter();
        let mut counts: Vec<_> = counts
            .map(|(phase, count)| (phase.as_str(), *count))
            .collect();
        counts.sort_by_key(|(phase, _)| rank(phase));
        counts
    }

    /// Who leads.
    #[must_use]
    pub fn leader(&self) -> Leader {
        let fresh = |levels: &&Levels| self.now.seconds_since(levels.at) <= SILENT;
        let known = self.numbers.replicas().filter(|(_, one)| one.is_known());
        let asked: Vec<(&str, &Levels)> = known
            .filter_map(|(name, one)| Some((name, one.now().filter(fresh)?)))
            .collect();
        let claims: Vec<String> = asked
            .iter()
            .filter(|(_, levels)| levels.leading == Some(true))
            .map(|(name, _)| self.identity(name).to_owned())
            .collect();
        if claims.len() > 1 {
            return Leader::Disputed(claims);
        }
        let Some(lease) = &self.lease else {
            return Leader::Unknown;
        };
        let good_for = f64::from(lease.duration_secs);
        let expired = lease.at.seconds_since(lease.renewed) - good_for;
        if lease.holder.is_empty() || expired > 0.0 {
            return Leader::Nobody {
                expired: (!lease.holder.is_empty()).then_some(expired),
            };
        }
        match claims.first() {
            Some(_) => Leader::Agreed(lease.holder.clone()),
            None if asked.is_empty() => Leader::Holder(lease.holder.clone()),
            None => Leader::Unconfirmed(lease.holder.clone()),
        }
    }

    /// Levels of the replica that leads, and its name; of the last that led when nobody does now.
    #[must_use]
    pub fn leading(&self) -> Option<(&str, &Levels)> {
        let all = self
            .numbers
            .replicas()
            .filter_map(|(name, one)| Some((name, one.now()?)));
        all.max_by_key(|(_, levels)| (levels.leading != Some(false), levels.at))
    }

    /// Replicas that answer, and those that are known.
    #[must_use]
    pub fn replicas(&self) -> (usize, usize) {
        let known: Vec<_> = self
            .sources
            .iter()
            .filter(|(source, _)| matches!(source, Source::Metrics(name) if !name.is_empty()))
            .collect();
        let live = known.iter().filter(|(_, one)| one.health == Health::Live);
        (live.count(), known.len())
    }

    /// What the operator's queue holds of an object, as the leader told it.
    #[must_use]
    pub fn queued(&self, key: &str) -> Option<(&QueueLine, Stamp)> {
        let leading = self.states.values().filter(|state| state.leading);
        let state = leading.max_by_key(|state| state.at)?;
        let line = state.lines.iter().find(|line| line.key == key)?;
        Some((line, state.at))
    }

    /// How the leader's calls to a provider are held back; by `namespace/name` of the ProviderConfig.
    #[must_use]
    pub fn outlet(&self, config: &str) -> Option<&Outlet> {
        let leading = self.states.values().filter(|state| state.leading);
        let state = leading.max_by_key(|state| state.at)?;
        state.outlets.iter().find(|outlet| outlet.config == config)
    }

    /// Why there are no numbers; `None` while there are.
    #[must_use]
    pub fn no_numbers(&self) -> Option<String> {
        let standings = self
            .sources
            .iter()
            .filter(|(source, _)| matches!(source, Source::Metrics(_)));
        let mut why = None;
        for (_, standing) in standings {
            match &standing.health {
                Health::Live => return None,
                Health::Waiting => why = why.or(Some("waiting for the first scrape".to_owned())),
                Health::Lost { why: text } | Health::Absent { why: text } => {
                    why = Some(text.clone());
                }
            }
        }
        if self.numbers.is_empty() {
            return Some(why.unwrap_or_else(|| "no metrics yet".to_owned()));
        }
        why
    }

    /// What a replica is called in the Lease, else its own name.
    fn identity<'a>(&'a self, name: &'a str) -> &'a str {
        match self.states.get(name) {
            Some(state) if !state.identity.is_empty() => &state.identity,
            Some(_) | None => name,
        }
    }

    fn machine(&mut self, machine: Machine) {
        if let Some(before) = self.machines.get(&machine.uid) {
            let changed = machine.conditions.iter().filter_map(|new| {
                let old = before.condition(&new.kind);
                let from = old.map_or("", |old| old.status.as_str());
                (from != new.status).then(|| Turn {
                    at: new.since,
                    kind: new.kind.clone(),
                    from: from.to_owned(),
                })
            });
            let changed: Vec<Turn> = changed.collect();
            if !changed.is_empty()
                && (self.turns.len() < TURNING || self.turns.contains_key(&machine.uid))
            {
                let turns = self.turns.entry(machine.uid.clone()).or_default();
                turns.extend(changed);
                let over = turns.len().saturating_sub(TURNS);
                turns.drain(..over);
            }
        }
        *self
            .counts
            .entry(machine.shown_phase().to_owned())
            .or_default() += 1;
        let before = self.machines.insert(machine.uid.clone(), Arc::new(machine));
        self.uncount(before);
    }

    fn gone(&mut self, uid: &str) {
        let before = self.machines.remove(uid);
        self.uncount(before);
        self.turns.remove(uid);
    }

    fn uncount(&mut self, machine: Option<Arc<Machine>>) {
        let Some(machine) = machine else { return };
        if let Some(count) = self.counts.get_mut(machine.shown_phase()) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.counts.remove(machine.shown_phase());
            }
        }
    }

    fn lease(&mut self, lease: Lease) {
        let before = self.lease.as_ref().map(|lease| lease.holder.clone());
        if let Some(from) = before
            && from != lease.holder
        {
            self.handovers.push_back(Handover {
                at: lease.at,
                from,
                to: lease.holder.clone(),
            });
            if self.handovers.len() > HANDOVERS {
                self.handovers.pop_front();
            }
        }
        self.lease = Some(lease);
    }

    fn replica_gone(&mut self, replica: &str) {
        self.numbers.end(replica);
        self.states.remove(replica);
        self.sources.remove(&Source::Metrics(replica.to_owned()));
        self.sources.remove(&Source::State(replica.to_owned()));
    }

    fn event(&mut self, event: Event) {
        self.events.retain(|known| known.uid != event.uid);
        let later = self.events.partition_point(|known| known.at <= event.at);
        self.events.insert(later, Arc::new(event));
        if self.events.len() > EVENTS {
            self.events.pop_front();
        }
    }

    fn logs(&mut self, lines: Vec<LogLine>, dropped: u64) {
        self.dropped = self.dropped.saturating_add(dropped);
        self.logs.extend(lines.into_iter().map(Arc::new));
        let over = self.logs.len().saturating_sub(LOGS);
        self.logs.drain(..over);
    }

    fn source(&mut self, source: Source, health: Health, at: Stamp) {
        let before = self.sources.get(&source);
        let since = match before {
            Some(before) if before.health == health => before.since,
            Some(_) | None => at,
        };
        let good = match health {
            Health::Live => Some(at),
            Health::Waiting | Health::Lost { .. } | Health::Absent { .. } => {
                before.and_then(|before| before.good)
            }
        };
        self.sources.insert(
            source,
            Standing {
                health,
                since,
                good,
            },
        );
    }
}

/// Phases in the order in which they are shown.
pub(crate) const PHASES: [&str; 11] = [
    "Running",
    "Starting",
    "Provisioning",
    "Pending",
    "Resizing",
    "Stopping",
    "Stopped",
    "Deleting",
    "Failed",
    "Lost",
    "Unknown",
];

/// Where in the order a phase stands; what this version does not know comes last.
pub(crate) fn rank(phase: &str) -> usize {
    let found = PHASES.iter().position(|known| *known == phase);
    found.unwrap_or(PHASES.len())
}

#[cfg(test)]
mod tests;
