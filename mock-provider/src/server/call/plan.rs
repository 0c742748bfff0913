//! What a call asks, who asks it, and what is to go wrong.

use axum::body::Bytes;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts as Head;
use jiff::Timestamp;

use crate::faults::{Effect, Subject};
use crate::journal::Entry;
use crate::keyring::Caller;
use crate::server::cloud::Inner;
use crate::wire::{Parts, Read, Route, read, route};
use crate::world::{Call, Code, Refusal, Text};

/// A call that is known but not carried out yet.
pub(super) struct Plan {
    pub(super) request_id: String,
    arrived: Timestamp,
    user_agent: Option<String>,
    pub(super) caller: Caller,
    pub(super) route: Route,
    pub(super) read: Read,
    key: Option<Text>,
    /// Tags of the VM or the filter that it is about.
    tags: Vec<(Text, Text)>,
    /// The rule that hits it.
    pub(super) fault: Option<(u64, Effect)>,
}

impl Plan {
    /// Reads a request and asks the fault rules.
    pub(super) fn new(inner: &mut Inner, head: &Head, body: Result<Bytes, Refusal>) -> Self {
        let (request_id, arrived) = (inner.request_id(), inner.now());
        let user_agent = head.headers.get(USER_AGENT);
        let user_agent = user_agent.map(|name| String::from_utf8_lossy(name.as_bytes()).into());
        let caller = inner.keyring.identify(&head.headers);
        let (path, query) = (head.uri.path(), head.uri.query().unwrap_or(""));
        let route = route(&head.method, path);
        let read = match &body {
            Ok(body) => {
                let (method, headers) = (&head.method, &head.headers);
                let basic = inner.world.settings().basic;
                read(
                    &route,
                    Parts {
                        method,
                        path,
                        query,
                        headers,
                        body,
                        basic,
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
            let (operation, vm_id) = (Some(route.operation), route.id.as_deref());
            let subject = Subject {
                operation,
                account,
                vm_id,
                tags: Vec::new(),
            };
            inner.faults.pick(&subject.with_tags(&tags))
        });
        Self {
            request_id,
            arrived,
            user_agent,
            caller,
            route,
            read,
            key,
            tags,
            fault,
        }
    }

    /// What goes wrong, if anything.
    pub(super) fn effect(&self) -> Option<&Effect> {
        self.fault.as_ref().map(|(_, effect)| effect)
    }

    /// The log's entry as far as it is known before the call is carried out.
    pub(super) fn entry(&self, time: Timestamp) -> Entry {
        let nobody = self.caller.account.is_none();
        let mut entry = Entry {
            seq: 0,
            time,
            arrived: self.arrived,
            user_agent: self.user_agent.clone(),
            operation: self.route.operation,
            account: self.caller.account.clone(),
            api_key: self.caller.fingerprint.clone(),
            idempotency_key: self.key.clone(),
            vm_id: self.route.id.clone(),
            uid: None,
            incarnation: None,
            status: 0,
            code: nobody.then(|| Code::Unauthenticated.parts().0.to_owned()),
            request_id: self.request_id.clone(),
            applied: false,
            dropped: self.effect().is_some_and(Effect::drops),
            fault: self.fault.as_ref().map(|(id, _)| *id),
        };
        entry.note_tags(&self.tags);
        entry
    }
}

/// The idempotency key and the tags that a call is about.
fn subject(inner: &Inner, caller: &Caller, call: &Call) -> (Option<Text>, Vec<(Text, Text)>) {
    let texts = |tags: &[(String, String)]| {
        let text = |(key, value): &(String, String)| (Text::from(&**key), Text::from(&**value));
        tags.iter().map(text).collect()
    };
    match call {
        Call::Create(create) => {
            let spec = create.spec.as_ref();
            (
                create.key.clone(),
                spec.map(|spec| texts(&spec.tags)).unwrap_or_default(),
            )
        }
        Call::Get { id } | Call::Delete { id } => {
            let account = caller.account.as_ref();
            let tags = account.and_then(|account| inner.world.tags_of(account, id));
            (None, tags.map(<[_]>::to_vec).unwrap_or_default())
        }
        Call::List(query) => (None, texts(&query.tags)),
        Call::Capabilities | Call::Changes { .. } | Call::Invalid(..) => (None, Vec::new()),
    }
}
