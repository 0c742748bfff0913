//! A cloud in memory, with faults by script.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;

use super::double::Fault;
use crate::controller::Clouds;
use crate::domain::{
    Capabilities, ClusterId, CreateBody, ErrorKind, IdempotencyKey, Instance, InstanceId,
    InstancePhase, Moment, Operation, Owner, OwnerTag, ProviderError, Quantity, Uid,
};
use crate::lifecycle::fixtures::{self, MADE_AT, nth};
use crate::lifecycle::{Config, ConfigProblem};
use crate::provider::{Inventory, Page, Provider, Turn};

/// The cloud. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub(super) struct Cloud(Arc<Mutex<CloudState>>);

#[derive(Debug, Default)]
pub(super) struct CloudState {
    pub(super) instances: Vec<Instance>,
    keys: BTreeMap<IdempotencyKey, (String, InstanceId)>,
    pub(super) faults: VecDeque<Fault>,
    pub(super) calls: Vec<&'static str>,
    pub(super) bodies: Vec<String>,
    /// Why every create is refused.
    pub(super) refuses: Option<ErrorKind>,
    /// Why no create gets its turn.
    pub(super) held: Option<ErrorKind>,
    revision: u64,
}

/// Resolves every ProviderConfig to the one cloud, or to a problem.
#[derive(Clone, Debug)]
pub(super) struct Sky {
    pub(super) cloud: Cloud,
    pub(super) config: Arc<Mutex<Result<Config, ConfigProblem>>>,
    pub(super) inventory: Arc<Mutex<Option<Arc<Inventory>>>>,
}

impl Cloud {
    pub(super) fn lock(&self) -> MutexGuard<'_, CloudState> {
        self.0.lock().unwrap()
    }

    /// Every instance takes this phase.
    pub(super) fn all_are(&self, phase: &InstancePhase) {
        let mut state = self.lock();
        state.revision += 1;
        let revision = Some(state.revision);
        for one in &mut state.instances {
            one.phase = phase.clone();
            one.revision = revision;
        }
    }

    /// How often this call was made.
    pub(super) fn count(&self, call: &str) -> usize {
        self.lock()
            .calls
            .iter()
            .filter(|made| **made == call)
            .count()
    }
}

impl CloudState {
    fn called(&mut self, call: &'static str) -> Fault {
        self.calls.push(call);
        self.faults.pop_front().unwrap_or(Fault::Fine)
    }

    fn make(&mut self, key: &IdempotencyKey, body: &CreateBody) -> Result<Instance, ErrorKind> {
        if let Some((before, id)) = self.keys.get(key) {
            if before != body.as_str() {
                return Err(ErrorKind::KeyReused);
            }
            let made = self.instances.iter().find(|one| one.id == *id);
            return made.cloned().ok_or(ErrorKind::KeyOfDeleted);
        }
        let asked: Value = serde_json::from_str(body.as_str()).unwrap();
        let tag = |name: &str| {
            asked["tags"][format!("vmoperator/{name}")]
                .as_str()
                .unwrap()
        };
        let id = InstanceId::new(format!("i-{}", self.keys.len() + 1));
        let made = Instance {
            id: id.clone(),
            image: asked["image"].as_str().unwrap().to_owned(),
            cpu: 2,
            memory: Quantity::parse(asked["memory"].as_str().unwrap()).unwrap(),
            phase: InstancePhase::Provisioning,
            owner: Some(OwnerTag {
                cluster: ClusterId::new(tag("cluster")),
                uid: Uid::new(tag("uid")),
                incarnation: nth(tag("incarnation").parse().unwrap()),
            }),
            addresses: Vec::new(),
            created_at: MADE_AT.to_owned(),
            message: None,
            revision: Some(self.revision),
        };
        self.keys
            .insert(key.clone(), (body.as_str().to_owned(), id));
        self.instances.push(made.clone());
        Ok(made)
    }
}

fn failed<T>(kind: ErrorKind, operation: Operation) -> Result<T, ProviderError> {
    Err(ProviderError::without_answer(kind, operation))
}

impl Provider for Cloud {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        Ok(fixtures::config().capabilities)
    }

    async fn create(
        &self,
        key: &IdempotencyKey,
        body: &CreateBody,
        _: Moment,
    ) -> Result<Instance, ProviderError> {
        let mut state = self.lock();
        let fault = state.called("create");
        state.bodies.push(body.as_str().to_owned());
        if let Some(kind) = state.refuses {
            return failed(kind, Operation::Create);
        }
        let lost = failed(ErrorKind::TimedOut, Operation::Create);
        match fault {
            Fault::Refused(kind) => return failed(kind, Operation::Create),
            Fault::RequestLost => return lost,
            Fault::Fine | Fault::AnswerLost | Fault::Overtaken => {}
        }
        let made = state.make(key, body);
        if fault == Fault::AnswerLost {
            return lost;
        }
        made.or_else(|kind| failed(kind, Operation::Create))
    }

    async fn line_up(&self) -> Result<Turn, ProviderError> {
        match self.lock().held {
            Some(kind) => failed(kind, Operation::Create),
            None => Ok(Turn::default()),
        }
    }

    async fn get(&self, id: &InstanceId) -> Result<Instance, ProviderError> {
        let mut state = self.lock();
        if let Fault::Refused(kind) = state.called("get") {
            return failed(kind, Operation::Get);
        }
        let found = state.instances.iter().find(|one| one.id == *id).cloned();
        found.map_or_else(|| failed(ErrorKind::NotFound, Operation::Get), Ok)
    }

    async fn find(&self, owner: &Owner) -> Result<Vec<Instance>, ProviderError> {
        let mut state = self.lock();
        if let Fault::Refused(kind) = state.called("find") {
            return failed(kind, Operation::List);
        }
        let ours = state.instances.iter().filter(|one| one.belongs_to(owner));
        Ok(ours.cloned().collect())
    }

    async fn page(&self, _: Option<&str>) -> Result<Page, ProviderError> {
        let state = self.lock();
        Ok(Page {
            items: state.instances.clone(),
            next: None,
            revision: Some(state.revision),
        })
    }

    async fn delete(&self, id: &InstanceId) -> Result<(), ProviderError> {
        let mut state = self.lock();
        match state.called("delete") {
            Fault::Refused(kind) => return failed(kind, Operation::Delete),
            Fault::RequestLost => return failed(ErrorKind::TimedOut, Operation::Delete),
            Fault::Fine | Fault::AnswerLost | Fault::Overtaken => {}
        }
        state.instances.retain(|one| one.id != *id);
        Ok(())
    }
}

impl Clouds for Sky {
    type Cloud = Cloud;

    fn resolve(&self, _: &str, _: &str) -> Result<(Config, Arc<Cloud>), ConfigProblem> {
        let config = self.config.lock().unwrap().clone()?;
        Ok((config, Arc::new(self.cloud.clone())))
    }

    fn inventory(&self, _: &str, _: &str) -> Option<Arc<Inventory>> {
        self.inventory.lock().unwrap().clone()
    }
}
