//! The simulated cloud: keys with a lifetime, lists that lag, instances that take their time.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::swarm::Swarm;
use super::wire::wall;
use crate::domain::intent::tags;
use crate::domain::{
    Address, AddressType, ClusterId, CreateBody, ErrorKind, Incarnation, Instance, InstanceId,
    InstancePhase, Moment, Operation, Owner, OwnerTag, ProviderError, Quantity, Uid,
};

/// One instance, alive or gone.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) instance: Instance,
    pub(super) uid: Uid,
    pub(super) incarnation: u32,
    pub(super) alive: bool,
    made: Moment,
    /// It went by itself.
    pub(super) vanished: bool,
    /// When the deletion under way is over, and when it was.
    gone_at: Option<Moment>,
    /// Made by a create that was sent for an incarnation already given up.
    pub(super) low: bool,
}

#[derive(Clone, Debug)]
struct Known {
    body: CreateBody,
    machine: usize,
    since: Moment,
    last_use: Moment,
}

/// The cloud.
#[derive(Debug)]
pub(super) struct Cloud {
    pub(super) machines: Vec<Machine>,
    keys: BTreeMap<String, Known>,
    pub(super) key_life: Duration,
    pub(super) lag: Duration,
    pub(super) provisioning: Duration,
    /// How long a deletion takes; zero: at once.
    pub(super) deletion: Duration,
    /// Answers that the next create gets instead of an instance.
    pub(super) quota_used_up: bool,
    /// It knows neither keys nor tags nor lists.
    pub(super) basic: bool,
    /// Creates and deletes that were applied.
    pub(super) writes: u64,
    pub(super) replays: u64,
}

#[derive(Deserialize)]
struct Asked {
    image: String,
    cpu: u32,
    memory: String,
    tags: BTreeMap<String, String>,
}

/// Owner of what another cluster made in the same account.
const STRANGER: &str = "stranger";

/// How a find sees what changed within the lag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub(super) misses_young: bool,
    pub(super) shows_gone: bool,
}

fn refused(kind: ErrorKind, operation: Operation, status: u16, code: &str) -> ProviderError {
    ProviderError {
        status: Some(status),
        code: Some(code.to_owned()),
        ..ProviderError::without_answer(kind, operation)
    }
}

impl Machine {
    /// Somebody else's, which has nothing to do with the operator.
    pub(super) fn is_strange(&self) -> bool {
        self.uid.as_str() == STRANGER
    }

    /// Whether it has been gone for so long.
    pub(super) fn is_gone_for(&self, long: Duration, now: Moment) -> bool {
        !self.alive && self.gone_at.is_some_and(|at| now >= at + long)
    }
}

impl Cloud {
    /// An empty cloud with the numbers of a run.
    pub(super) fn of(swarm: &Swarm) -> Self {
        let slow = swarm.words.slowdelete;
        Self {
            machines: Vec::new(),
            keys: BTreeMap::new(),
            key_life: swarm.key_life,
            lag: swarm.lag,
            provisioning: swarm.provisioning,
            deletion: if slow { swarm.deletion } else { Duration::ZERO },
            quota_used_up: false,
            basic: swarm.basic,
            writes: 0,
            replays: 0,
        }
    }

    /// `POST /vms`: a known key is answered before validation and quota, and a refusal uses no key up.
    pub(super) fn create(
        &mut self,
        key: &str,
        body: &CreateBody,
        now: Moment,
        still_in_work: bool,
    ) -> Result<Instance, ProviderError> {
        let error = |kind, status, code| Err(refused(kind, Operation::Create, status, code));
        let life = self.key_life;
        self.keys.retain(|_, known| now.since(known.since) < life);
        if let Some(known) = self.keys.get_mut(key).filter(|_| !self.basic) {
            if !known.body.asks_for_the_same(body) {
                return error(ErrorKind::KeyReused, 422, "IdempotencyKeyReused");
            }
            let recent = now.since(known.last_use) < Duration::from_secs(1);
            known.last_use = now;
            let machine = &self.machines[known.machine];
            return if !machine.alive {
                error(ErrorKind::KeyOfDeleted, 409, "KeyOfDeletedVM")
            } else if still_in_work && recent {
                error(ErrorKind::KeyInUse, 409, "IdempotencyKeyInUse")
            } else {
                self.replays += 1;
                Ok(machine.instance.clone())
            };
        }
        let asked: Asked = serde_json::from_str(body.as_str()).unwrap();
        if asked.image == "bad" {
            return error(ErrorKind::Invalid, 422, "InvalidImage");
        }
        if std::mem::take(&mut self.quota_used_up) {
            return error(ErrorKind::QuotaExceeded, 403, "QuotaExceeded");
        }
        self.writes += 1;
        let machine = self.machine(&asked, now);
        let instance = machine.instance.clone();
        self.machines.push(machine);
        self.keys.insert(
            key.to_owned(),
            Known {
                body: body.clone(),
                machine: self.machines.len() - 1,
                since: now,
                last_use: now,
            },
        );
        Ok(instance)
    }

    fn machine(&self, asked: &Asked, now: Moment) -> Machine {
        let tag = |name: &str| asked.tags[name].clone();
        let incarnation: u32 = tag(tags::INCARNATION).parse().unwrap();
        let uid = Uid::new(tag(tags::UID));
        let instance = Instance {
            id: InstanceId::new(format!("vm-{}", self.machines.len() + 1)),
            image: asked.image.clone(),
            cpu: asked.cpu,
            memory: Quantity::parse(&asked.memory).unwrap(),
            phase: InstancePhase::Provisioning,
            owner: (!self.basic).then(|| OwnerTag {
                cluster: ClusterId::new(tag(tags::CLUSTER)),
                uid: uid.clone(),
                incarnation: Incarnation::new(incarnation).unwrap(),
            }),
            addresses: Vec::new(),
            created_at: wall(now).to_string(),
            message: None,
            revision: None,
        };
        Machine {
            instance,
            uid,
            incarnation,
            alive: true,
            made: now,
            vanished: false,
            gone_at: None,
            low: false,
        }
    }

    /// `GET /vms/{id}`: consistent.
    pub(super) fn get(&self, id: &InstanceId) -> Result<Instance, ProviderError> {
        self.machines
            .iter()
            .find(|m| m.instance.id == *id && m.alive)
            .map(|m| m.instance.clone())
            .ok_or_else(|| refused(ErrorKind::NotFound, Operation::Get, 404, "NotFound"))
    }

    /// All pages of `GET /vms` by owner; `sight` is asked for what changed within the lag.
    pub(super) fn find(
        &self,
        owner: &Owner,
        now: Moment,
        mut sight: impl FnMut() -> Sight,
    ) -> Vec<Instance> {
        assert!(!self.basic, "a basic provider is asked for a list");
        let fresh = |since: Moment| now.since(since) < self.lag;
        self.machines
            .iter()
            .filter(|m| m.instance.belongs_to(owner))
            .filter(|m| {
                if m.alive {
                    !(fresh(m.made) && sight().misses_young)
                } else {
                    m.gone_at.is_some_and(fresh) && sight().shows_gone
                }
            })
            .map(|m| m.instance.clone())
            .collect()
    }

    /// `DELETE /vms/{id}`. Gives the instance that goes.
    pub(super) fn delete(&mut self, id: &InstanceId, now: Moment) -> Option<usize> {
        let at = self
            .machines
            .iter()
            .position(|m| m.instance.id == *id && m.alive)?;
        let machine = &mut self.machines[at];
        if machine.instance.phase != InstancePhase::Deleting {
            self.writes += 1;
            machine.instance.phase = InstancePhase::Deleting;
            machine.gone_at = Some(now + self.deletion);
            self.advance(now);
        }
        Some(at)
    }

    /// An instance goes by itself.
    pub(super) fn vanish(&mut self, at: usize, now: Moment) {
        let machine = &mut self.machines[at];
        machine.alive = false;
        machine.vanished = true;
        machine.gone_at = Some(now);
    }

    /// The id of an instance that is gone is given to somebody else's.
    pub(super) fn reuse(&mut self, at: usize, now: Moment) {
        let mut instance = self.machines[at].instance.clone();
        instance.phase = InstancePhase::Running;
        instance.created_at = wall(now).to_string();
        instance.owner = Some(OwnerTag {
            cluster: ClusterId::new("other"),
            uid: Uid::new(STRANGER),
            incarnation: Incarnation::FIRST,
        });
        self.machines.push(Machine {
            instance,
            uid: Uid::new(STRANGER),
            incarnation: 1,
            alive: true,
            made: now,
            vanished: false,
            gone_at: None,
            low: false,
        });
    }

    /// What time does by itself.
    pub(super) fn advance(&mut self, now: Moment) {
        for machine in self.machines.iter_mut().filter(|m| m.alive) {
            let instance = &mut machine.instance;
            if machine.gone_at.is_some_and(|at| at <= now) {
                machine.alive = false;
            } else if instance.phase == InstancePhase::Provisioning
                && machine.made + self.provisioning <= now
            {
                instance.phase = InstancePhase::Running;
                instance.addresses.push(Address {
                    kind: AddressType::InternalIp,
                    address: "198.18.0.1".to_owned(),
                });
            }
        }
    }

    /// When time changes something next.
    pub(super) fn next_due(&self) -> Option<Moment> {
        let due = |m: &Machine| match m.instance.phase {
            InstancePhase::Provisioning => Some(m.made + self.provisioning),
            _ => m.gone_at,
        };
        self.machines
            .iter()
            .filter(|m| m.alive)
            .filter_map(due)
            .min()
    }

    /// Live instances of a uid.
    pub(super) fn live<'a>(&'a self, uid: &'a Uid) -> impl Iterator<Item = &'a Machine> {
        self.machines
            .iter()
            .filter(move |m| m.alive && m.uid == *uid)
    }
}
