//! One call from its first byte to its answer.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::request::Parts as Head;
use axum::http::{Request as HttpRequest, Response as HttpResponse};

use super::cloud::{Cloud, Inner};
use super::connection::Line;
use super::effect;
use super::tasks::pause;
use crate::faults::{Effect, Subject};
use crate::journal::Entry;
use crate::keyring::{Caller, unauthenticated};
use crate::wire::{
    MAX_BODY, Parts, Read, Route, Written, read, route, write_answer, write_refusal,
};
use crate::world::{Answer, Call, Code, Refusal, Request, Text};

/// How long a request's body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

/// A call that is known but not carried out yet.
struct Plan {
    request_id: String,
    caller: Caller,
    route: Route,
    read: Read,
    key: Option<Text>,
    /// Tags of the VM or the filter that it is about.
    tags: Vec<(Text, Text)>,
    fault: Option<(u64, Effect)>,
}

/// A call that was carried out, or turned away.
struct Done {
    written: Written,
    request_id: String,
    effect: Option<Effect>,
    delay: Duration,
    applied: bool,
    /// A change feed that has nothing to say yet.
    poll: Option<Poll>,
}

struct Poll {
    account: Text,
    since: u64,
    seconds: u64,
    entry: Entry,
}

/// Answers every request to the API.
pub(super) async fn answer(
    State(cloud): State<Arc<Cloud>>,
    ConnectInfo(line): ConnectInfo<Line>,
    request: HttpRequest<Body>,
) -> HttpResponse<Body> {
    let (head, body) = request.into_parts();
    let body = collect(&head, body).await;
    let plan = cloud.with(|inner| plan(inner, &head, body));
    let mut done = match plan.fault {
        Some((
            _,
            Effect::Delay {
                milliseconds,
                applied: false,
            },
        )) => late(&cloud, plan, milliseconds).await,
        Some(_) | None => cloud.with(|inner| carry_out(inner, plan)),
    };
    if let Some(poll) = done.poll.take() {
        done.written = wait_for_change(&cloud, poll, &done.request_id).await;
    }
    if done.applied && !cloud.kept().await {
        let refusal = Refusal::new(
            Code::Internal,
            "the data file could not be written; the change is in memory only",
        );
        done.written = write_refusal(&refusal, &done.request_id);
    }
    if !done.delay.is_zero() {
        pause(done.delay).await;
    }
    effect::send(done.written, &done.request_id, done.effect.as_ref(), &line)
}

async fn collect(head: &Head, body: Body) -> Result<Bytes, Refusal> {
    let too_large = || {
        Refusal::new(
            Code::TooLarge,
            format!("a body may have at most {MAX_BODY} bytes"),
        )
    };
    let length = head
        .headers
        .get("content-length")
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > MAX_BODY as u64) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIME, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(Refusal::new(
            Code::InvalidRequest,
            "the body did not arrive within 30 seconds",
        )),
    }
}

fn plan(inner: &mut Inner, head: &Head, body: Result<Bytes, Refusal>) -> Plan {
    let request_id = inner.request_id();
    let caller = inner.keyring.identify(&head.headers);
    let route = route(&head.method, head.uri.path());
    let read = match &body {
        Ok(body) => {
            let (path, query) = (head.uri.path(), head.uri.query().unwrap_or(""));
            read(
                &route,
                Parts {
                    method: &head.method,
                    path,
                    query,
                    headers: &head.headers,
                    body,
                },
            )
        }
        Err(refusal) => Read {
            call: Call::Invalid(route.operation, refusal.clone()),
            wait: 0,
        },
    };
    let (key, tags) = subject(inner, &caller, &read.call);
    let fault = caller.account.as_deref().and_then(|account| {
        let vm_id = route.id.as_deref();
        let subject = Subject {
            operation: Some(route.operation),
            account,
            vm_id,
            tags: Vec::new(),
        };
        inner.faults.pick(&subject.with_tags(&tags))
    });
    Plan {
        request_id,
        caller,
        route,
        read,
        key,
        tags,
        fault,
    }
}

/// The idempotency key and the tags that a call is about.
fn subject(inner: &Inner, caller: &Caller, call: &Call) -> (Option<Text>, Vec<(Text, Text)>) {
    let texts = |tags: &[(String, String)]| {
        tags.iter()
            .map(|(key, value)| (Text::from(&**key), Text::from(&**value)))
            .collect()
    };
    match call {
        Call::Create(create) => (
            create.key.clone(),
            create
                .spec
                .as_ref()
                .map(|spec| texts(&spec.tags))
                .unwrap_or_default(),
        ),
        Call::Get { id } | Call::Delete { id } => {
            let tags = caller
                .account
                .as_ref()
                .and_then(|account| inner.world.tags_of(account, id));
            (None, tags.map(<[_]>::to_vec).unwrap_or_default())
        }
        Call::List(query) => (None, texts(&query.tags)),
        Call::Capabilities | Call::Changes { .. } | Call::Invalid(..) => (None, Vec::new()),
    }
}

/// Carries a call out after a while, also when its client is gone by then: a request that was under way.
async fn late(cloud: &Arc<Cloud>, plan: Plan, milliseconds: u64) -> Done {
    let (shared, request_id) = (cloud.clone(), plan.request_id.clone());
    let work = async move {
        tokio::select! {
            () = shared.stop.cancelled() => {}
            () = pause(Duration::from_millis(milliseconds)) => {}
        }
        shared.with(|inner| carry_out(inner, plan))
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "must outlive the client's patience; ends with the server at the latest"
    )]
    let task = tokio::spawn(work);
    task.await.unwrap_or_else(|error| {
        let refusal = Refusal::new(Code::Internal, format!("the call broke off: {error}"));
        let written = write_refusal(&refusal, &request_id);
        Done {
            written,
            request_id,
            effect: None,
            delay: Duration::ZERO,
            applied: false,
            poll: None,
        }
    })
}

fn carry_out(inner: &mut Inner, plan: Plan) -> Done {
    let now = inner.now();
    let effect = plan.fault.as_ref().map(|(_, effect)| effect);
    let before = match effect {
        Some(Effect::DropBefore) => Some(Written {
            status: 0,
            headers: Vec::new(),
            body: String::new(),
        }),
        Some(made_up @ Effect::Status { applied: false, .. }) => {
            effect::made_up(made_up, &plan.request_id)
        }
        Some(_) | None => None,
    };
    let mut entry = entry(&plan, now);
    let Some(account) = plan.caller.account.clone() else {
        let written = write_refusal(&unauthenticated(), &plan.request_id);
        return finish(inner, plan, entry, written, Duration::ZERO);
    };
    if let Some(written) = before {
        return finish(inner, plan, entry, written, Duration::ZERO);
    }
    let hold = match effect {
        Some(Effect::Delay {
            milliseconds,
            applied: true,
        }) => Duration::from_millis(*milliseconds),
        Some(_) | None => Duration::ZERO,
    };
    let since = if let Call::Changes { since } = plan.read.call {
        Some(since)
    } else {
        None
    };
    let call = plan.read.call.clone();
    let mut response = inner.world.handle(
        Request {
            account: account.clone(),
            call,
            hold,
        },
        now,
    );
    entry.applied = response.applied;
    if let (Some(since), Ok(Answer::Changes(feed))) = (since, &response.outcome)
        && feed.changes.is_empty()
        && plan.read.wait > 0
    {
        let poll = Poll {
            account,
            since,
            seconds: plan.read.wait,
            entry,
        };
        let written = Written {
            status: 200,
            headers: Vec::new(),
            body: String::new(),
        };
        let effect = plan.fault.map(|(_, effect)| effect);
        return Done {
            written,
            request_id: plan.request_id,
            effect,
            delay: response.delay,
            applied: false,
            poll: Some(poll),
        };
    }
    if matches!(effect, Some(Effect::WrongId))
        && let Ok(answer) = &mut response.outcome
    {
        effect::wrong_id(answer);
    }
    entry.vm_id = vm_id(&response.outcome).or(entry.vm_id);
    let mut written = match &response.outcome {
        Ok(answer) => write_answer(answer, inner.world.settings().basic),
        Err(refusal) => write_refusal(refusal, &plan.request_id),
    };
    entry.code = code(&response.outcome);
    if let Some(other) = effect.and_then(|effect| effect::made_up(effect, &plan.request_id)) {
        written = other;
    }
    finish(inner, plan, entry, written, response.delay)
}

fn finish(
    inner: &mut Inner,
    plan: Plan,
    mut entry: Entry,
    written: Written,
    delay: Duration,
) -> Done {
    let effect = plan.fault.map(|(_, effect)| effect);
    entry.status = written.status;
    if let Some(Effect::Status { code, .. }) = &effect {
        entry.code.clone_from(code);
    }
    let applied = entry.applied;
    inner.journal.note(entry);
    Done {
        written,
        request_id: plan.request_id,
        effect,
        delay,
        applied,
        poll: None,
    }
}

fn entry(plan: &Plan, now: jiff::Timestamp) -> Entry {
    let tag = |name: &str| {
        plan.tags
            .iter()
            .find(|(key, _)| &**key == name)
            .map(|(_, value)| value.clone())
    };
    Entry {
        seq: 0,
        time: now,
        operation: plan.route.operation,
        account: plan.caller.account.clone(),
        api_key: plan.caller.fingerprint.clone(),
        idempotency_key: plan.key.clone(),
        vm_id: plan.route.id.clone(),
        uid: tag("vmoperator/uid"),
        incarnation: tag("vmoperator/incarnation"),
        status: 0,
        code: plan
            .caller
            .account
            .is_none()
            .then(|| Code::Unauthenticated.parts().0.to_owned()),
        request_id: plan.request_id.clone(),
        applied: false,
        dropped: plan
            .fault
            .as_ref()
            .is_some_and(|(_, effect)| effect.drops()),
        fault: plan.fault.as_ref().map(|(id, _)| *id),
    }
}

fn vm_id(outcome: &Result<Answer, Refusal>) -> Option<String> {
    match outcome {
        Ok(
            Answer::Created(vm) | Answer::Replayed(vm) | Answer::Found(vm) | Answer::Deleting(vm),
        ) => Some(vm.id.to_string()),
        Ok(Answer::Capabilities(_) | Answer::Page(_) | Answer::Changes(_) | Answer::Deleted) => {
            None
        }
        Err(refusal) => refusal.id.map(|id| id.to_string()),
    }
}

fn code(outcome: &Result<Answer, Refusal>) -> Option<String> {
    outcome
        .as_ref()
        .err()
        .map(|refusal| refusal.code.parts().0.to_owned())
}

/// Looks again at each change until there is something to say, the time is over or the server stops.
async fn wait_for_change(cloud: &Arc<Cloud>, poll: Poll, request_id: &str) -> Written {
    let Poll {
        account,
        since,
        seconds,
        mut entry,
    } = poll;
    let mut versions = cloud.versions();
    versions.mark_changed();
    let wait = async {
        loop {
            if versions.changed().await.is_err() {
                return;
            }
            let news = cloud.with(|inner| inner.world.changes(&account, since));
            if !news.is_ok_and(|feed| feed.changes.is_empty()) {
                return;
            }
        }
    };
    tokio::select! {
        () = wait => {}
        () = pause(Duration::from_secs(seconds)) => {}
        () = cloud.stop.cancelled() => {}
    }
    cloud.with(|inner| {
        let outcome = inner.world.changes(&account, since).map(Answer::Changes);
        entry.code = code(&outcome);
        let written = match &outcome {
            Ok(answer) => write_answer(answer, false),
            Err(refusal) => write_refusal(refusal, request_id),
        };
        entry.status = written.status;
        inner.journal.note(entry);
        written
    })
}
