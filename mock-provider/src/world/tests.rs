//! The cloud without a server.

mod accounts;
mod acts;
mod changes;
mod keys;
mod life;
mod lists;
mod saving;
mod scale;
mod sequences;
mod specs;

use std::time::Duration;

use jiff::Timestamp;

use super::{
    Answer, Call, Code, Create, Digest, ListQuery, NewVm, Page, Refusal, Request, Response,
    Settings, Vm, World,
};

const ACCOUNT: &str = "acme";

fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000 + milliseconds).unwrap()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn world(change: impl FnOnce(&mut Settings)) -> World {
    let mut settings = Settings::default();
    change(&mut settings);
    World::new(settings, 7)
}

fn spec() -> NewVm {
    NewVm {
        image: "ubuntu-22.04".into(),
        cpu: 2,
        memory: "4Gi".into(),
        ..NewVm::default()
    }
}

fn tagged(tags: &[(&str, &str)]) -> NewVm {
    NewVm {
        tags: owned(tags),
        ..spec()
    }
}

fn owned(tags: &[(&str, &str)]) -> Vec<(String, String)> {
    tags.iter()
        .map(|(key, value)| ((*key).into(), (*value).into()))
        .collect()
}

/// A create whose body is told apart by `body`.
fn create(key: Option<&str>, body: u128, spec: NewVm) -> Call {
    Call::Create(Create {
        key: key.map(Into::into),
        digest: Digest(body),
        spec: Ok(spec),
    })
}

impl World {
    fn call(&mut self, call: Call, now: Timestamp) -> Response {
        self.handle(Request::new(ACCOUNT, call), now)
    }

    fn made(&mut self, spec: NewVm, now: Timestamp) -> Vm {
        match self.call(create(None, 0, spec), now).outcome.unwrap() {
            Answer::Created(vm) => vm,
            other => panic!("not created: {other:?}"),
        }
    }

    fn got(&mut self, id: &str, now: Timestamp) -> Result<Vm, Refusal> {
        self.call(Call::Get { id: id.into() }, now)
            .outcome
            .map(|answer| match answer {
                Answer::Found(vm) => vm,
                other => panic!("not found: {other:?}"),
            })
    }

    fn page(&mut self, query: ListQuery, now: Timestamp) -> Result<Page, Refusal> {
        self.call(Call::List(query), now)
            .outcome
            .map(|answer| match answer {
                Answer::Page(page) => page,
                other => panic!("no page: {other:?}"),
            })
    }

    fn ids(&mut self, now: Timestamp) -> Vec<String> {
        self.page(ListQuery::default(), now)
            .unwrap()
            .items
            .iter()
            .map(|vm| vm.id.to_string())
            .collect()
    }

    fn deleted(&mut self, id: &str, now: Timestamp) -> Answer {
        self.call(Call::Delete { id: id.into() }, now)
            .outcome
            .unwrap()
    }
}

fn refused(response: &Response) -> Code {
    response.outcome.as_ref().unwrap_err().code
}
