//! Answers.

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::world::{Answer, Capabilities, ChangeKind, Feed, Page, Phase, Refusal, Text, Vm};

/// An answer, ready to send.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Written {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Empty for an answer without body.
    pub(crate) body: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CapabilitiesBody<'a> {
    version: &'static str,
    account: &'a str,
    list: bool,
    tag_filter: bool,
    list_lag_seconds: u64,
    changes: bool,
    idempotency_keys: KeysBody,
    power: bool,
    resize: [&'static str; 0],
    snapshots: bool,
    delete_is_async: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KeysBody {
    ttl_seconds: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VmBody<'a> {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    image: &'a str,
    cpu: u32,
    memory: &'a str,
    phase: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<TagsBody<'a>>,
    addresses: Vec<AddressBody>,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

struct TagsBody<'a>(&'a [(Text, Text)]);

#[derive(Serialize)]
struct AddressBody {
    r#type: &'static str,
    address: String,
}

#[derive(Serialize)]
struct PageBody<'a> {
    items: Vec<VmBody<'a>>,
    r#continue: &'a str,
    revision: String,
}

#[derive(Serialize)]
struct FeedBody<'a> {
    changes: Vec<ChangeBody<'a>>,
    revision: String,
}

#[derive(Serialize)]
struct ChangeBody<'a> {
    r#type: &'static str,
    vm: VmBody<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RefusalBody<'a> {
    code: &'a str,
    message: &'a str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

/// Writes an answer. A basic provider's VM has no tags and no revision.
pub(crate) fn write_answer(answer: &Answer, basic: bool) -> Written {
    match answer {
        Answer::Capabilities(capabilities) => json(200, &CapabilitiesBody::from(capabilities)),
        Answer::Created(vm) => json(201, &VmBody::of(vm, basic)),
        Answer::Replayed(vm) => {
            let mut written = json(200, &VmBody::of(vm, basic));
            written
                .headers
                .push(("idempotency-replayed", "true".into()));
            written
        }
        Answer::Found(vm) => json(200, &VmBody::of(vm, basic)),
        Answer::Page(page) => json(200, &PageBody::from(page)),
        Answer::Changes(feed) => json(200, &FeedBody::from(feed)),
        Answer::Deleted => Written {
            status: 204,
            headers: Vec::new(),
            body: String::new(),
        },
        Answer::Deleting(vm) => json(202, &VmBody::of(vm, basic)),
    }
}

/// Writes a refusal.
pub(crate) fn write_refusal(refusal: &Refusal, request_id: &str) -> Written {
    let (code, status) = refusal.code.parts();
    let id = refusal.id.map(|id| id.to_string());
    let mut written = json(
        status,
        &RefusalBody {
            code,
            message: &refusal.message,
            request_id,
            id,
        },
    );
    written.headers.extend(
        refusal
            .retry_after
            .map(|seconds| ("retry-after", seconds.to_string())),
    );
    written
}

impl Written {
    /// An error that a fault rule made up.
    pub(crate) fn error(status: u16, code: &str, message: &str, request_id: &str) -> Self {
        json(
            status,
            &RefusalBody {
                code,
                message,
                request_id,
                id: None,
            },
        )
    }
}

/// A VM as JSON, for the cloud's owner.
pub(crate) fn vm_value(vm: &Vm) -> serde_json::Value {
    serde_json::to_value(VmBody::of(vm, false)).unwrap_or_default()
}

fn json(status: u16, body: &impl Serialize) -> Written {
    // Plain structures of text and numbers: there is nothing in them that JSON cannot say.
    let body = serde_json::to_string(body).unwrap_or_default();
    Written {
        status,
        headers: vec![("content-type", "application/json".into())],
        body,
    }
}

impl<'a> From<&'a Capabilities> for CapabilitiesBody<'a> {
    fn from(capabilities: &'a Capabilities) -> Self {
        Self {
            version: "1",
            account: &capabilities.account,
            list: true,
            tag_filter: true,
            list_lag_seconds: whole_seconds_up(capabilities.list_lag),
            changes: true,
            idempotency_keys: KeysBody {
                ttl_seconds: capabilities.key_lifetime.as_secs(),
            },
            power: false,
            resize: [],
            snapshots: false,
            delete_is_async: capabilities.delete_is_async,
        }
    }
}

impl<'a> VmBody<'a> {
    fn of(vm: &'a Vm, basic: bool) -> Self {
        let address = |ip: std::net::Ipv4Addr| AddressBody {
            r#type: "InternalIP",
            address: ip.to_string(),
        };
        Self {
            id: vm.id.to_string(),
            name: vm.name.as_deref(),
            image: &vm.image,
            cpu: vm.cpu,
            memory: &vm.memory,
            phase: phase(vm.phase),
            tags: (!basic).then(|| TagsBody(&vm.tags)),
            addresses: vm.ip().map(address).into_iter().collect(),
            created_at: vm.created_at.to_string(),
            revision: (!basic).then(|| vm.revision.to_string()),
            message: vm.message.as_deref(),
        }
    }
}

impl<'a> From<&'a Page> for PageBody<'a> {
    fn from(page: &'a Page) -> Self {
        let items = page.items.iter().map(|vm| VmBody::of(vm, false)).collect();
        Self {
            items,
            r#continue: page.token.as_deref().unwrap_or(""),
            revision: page.revision.to_string(),
        }
    }
}

impl<'a> From<&'a Feed> for FeedBody<'a> {
    fn from(feed: &'a Feed) -> Self {
        let kind = |kind| match kind {
            ChangeKind::Upsert => "Upsert",
            ChangeKind::Deleted => "Deleted",
        };
        let change = |change: &'a crate::world::Change| ChangeBody {
            r#type: kind(change.kind),
            vm: VmBody::of(&change.vm, false),
        };
        Self {
            changes: feed.changes.iter().map(change).collect(),
            revision: feed.revision.to_string(),
        }
    }
}

impl Serialize for TagsBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Provisioning => "Provisioning",
        Phase::Running => "Running",
        Phase::Stopped => "Stopped",
        Phase::Deleting => "Deleting",
        Phase::Failed => "Failed",
    }
}

fn whole_seconds_up(duration: std::time::Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}
