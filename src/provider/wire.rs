//! The JSON of the provider API as a client reads it, and how it becomes the domain's words.
//!
//! Fields that this version does not know are ignored. What a provider writes is not trusted: text loses its
//! control characters and its excess, ids must be of the agreed form, nesting is bounded before parsing.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::{Changes, Page};
use crate::domain::intent::tags;
use crate::domain::quantity::Quantity;
use crate::domain::{
    Address, AddressType, Capabilities, ClusterId, Incarnation, Instance, InstanceId,
    InstancePhase, OwnerTag, Uid,
};

/// Deepest nesting of arrays and objects that is read; the API itself needs four.
const MAX_DEPTH: usize = 32;
/// Longest message of an instance, in characters.
const MAX_MESSAGE: usize = 1024;
/// Longest image, address or time that is kept, in characters.
const MAX_TEXT: usize = 1024;
/// Longest unknown phase or address type that is shown, in characters.
const MAX_WORD: usize = 64;
/// Most addresses of one instance that are kept.
const MAX_ADDRESSES: usize = 64;
/// Longest id, in characters; the API's own bound.
const MAX_ID: usize = 253;

/// Why an answer cannot be understood. Never holds a piece of it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WireError {
    #[error("the answer is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("the answer is not the JSON of the provider API")]
    NotTheShape,
    #[error("the answer has an id that is not 1 to {MAX_ID} visible ASCII characters")]
    Id,
    #[error("the answer has a memory that is no quantity of bytes")]
    Memory,
}

/// The body of an error answer, as far as it is used.
#[derive(Deserialize)]
struct Refusal {
    code: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vm {
    id: String,
    phase: String,
    // Everything but id and phase may be missing: a basic provider tells little. Of the wrong type it may not be.
    #[serde(default)]
    image: String,
    #[serde(default)]
    cpu: u32,
    #[serde(default)]
    memory: Option<String>,
    #[serde(default)]
    tags: Option<BTreeMap<String, String>>,
    #[serde(default)]
    addresses: Option<Vec<VmAddress>>,
    #[serde(default)]
    created_at: String,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    revision: Option<String>,
}

#[derive(Deserialize)]
struct VmAddress {
    #[serde(rename = "type")]
    kind: String,
    address: String,
}

#[derive(Deserialize)]
struct VmPage {
    items: Vec<Vm>,
    #[serde(default, rename = "continue")]
    next: Option<String>,
    #[serde(default)]
    revision: Option<String>,
}

#[derive(Deserialize)]
struct VmChanges {
    changes: Vec<VmChange>,
    revision: String,
}

#[derive(Deserialize)]
struct VmChange {
    #[serde(rename = "type")]
    kind: ChangeKind,
    vm: Vm,
}

#[derive(Deserialize)]
enum ChangeKind {
    Upsert,
    Deleted,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CapabilitiesAnswer {
    #[serde(default)]
    account: Option<String>,
    #[serde(default)]
    list: bool,
    #[serde(default)]
    tag_filter: bool,
    #[serde(default)]
    list_lag_seconds: u32,
    #[serde(default)]
    changes: bool,
    #[serde(default)]
    idempotency_keys: Option<KeysAnswer>,
    #[serde(default)]
    delete_is_async: bool,
    /// There so that any JSON object is not taken for capabilities; versions beyond 1 are read as version 1.
    #[serde(rename = "version")]
    _version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeysAnswer {
    ttl_seconds: u32,
}

/// Reads one VM.
pub(super) fn instance(body: &[u8]) -> Result<Instance, WireError> {
    parse::<Vm>(body)?.into_instance()
}

/// Reads one page of VMs; one that cannot be understood spoils the page, because a part of a list is no list.
pub(super) fn page(body: &[u8]) -> Result<Page, WireError> {
    let page = parse::<VmPage>(body)?;
    let items = page.items.into_iter().map(Vm::into_instance);
    Ok(Page {
        items: items.collect::<Result<_, _>>()?,
        next: page.next.filter(|token| !token.is_empty()),
        revision: revision(page.revision.as_deref()),
    })
}

/// Reads an answer of the change feed. A kind of change that this version does not know spoils it: what it would
/// have said would be missed for ever.
pub(super) fn changes(body: &[u8]) -> Result<Changes, WireError> {
    let answer = parse::<VmChanges>(body)?;
    let mut changes = Changes {
        upserts: Vec::new(),
        deletions: Vec::new(),
        revision: revision(Some(&answer.revision)).ok_or(WireError::NotTheShape)?,
    };
    for change in answer.changes {
        let instance = change.vm.into_instance()?;
        match change.kind {
            ChangeKind::Upsert => changes.upserts.push(instance),
            ChangeKind::Deleted => changes.deletions.push(instance.id),
        }
    }
    Ok(changes)
}

/// A revision: a decimal number, written as a string.
fn revision(text: Option<&str>) -> Option<u64> {
    text?.parse().ok()
}

/// Reads the answer of `GET /capabilities`.
pub(super) fn capabilities(body: &[u8]) -> Result<Capabilities, WireError> {
    let answer = parse::<CapabilitiesAnswer>(body)?;
    Ok(Capabilities {
        account: answer
            .account
            .map(|account| clean(&account, MAX_ID))
            .filter(|account| !account.is_empty()),
        list: answer.list,
        tag_filter: answer.list && answer.tag_filter,
        list_lag: Duration::from_secs(answer.list_lag_seconds.into()),
        changes: answer.changes,
        // A lifetime of nothing is a key that is not honoured.
        key_lifetime: answer
            .idempotency_keys
            .filter(|keys| keys.ttl_seconds > 0)
            .map(|keys| Duration::from_secs(keys.ttl_seconds.into())),
        delete_is_async: answer.delete_is_async,
    })
}

/// The code of an error answer: `[A-Za-z0-9]`, 1 to 64 characters. `None` where the body has another shape.
pub(super) fn code(body: &[u8]) -> Option<String> {
    let code = parse::<Refusal>(body).ok()?.code;
    let fits = (1..=MAX_WORD).contains(&code.len());
    (fits && code.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(code)
}

/// Whether a text can be the id of an instance: 1 to 253 visible ASCII characters, and no step in a path.
pub(super) fn is_id(text: &str) -> bool {
    (1..=MAX_ID).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && text != "."
        && text != ".."
}

/// The text without control characters (also those that turn the direction of writing), at most `max` characters.
pub(super) fn clean(text: &str, max: usize) -> String {
    let visible = text.chars().filter(|&char| !is_unsafe_to_show(char));
    visible.take(max).collect()
}

impl Vm {
    fn into_instance(self) -> Result<Instance, WireError> {
        if !is_id(&self.id) {
            return Err(WireError::Id);
        }
        let memory = match self.memory {
            Some(text) => Quantity::parse(&text)
                .ok()
                .filter(|memory| memory.bytes().is_ok())
                .ok_or(WireError::Memory)?,
            None => Quantity::from_bytes(0),
        };
        let addresses = self.addresses.unwrap_or_default();
        Ok(Instance {
            owner: self.tags.as_ref().and_then(owner),
            id: InstanceId::new(self.id),
            image: clean(&self.image, MAX_TEXT),
            cpu: self.cpu,
            memory,
            phase: phase(&self.phase),
            addresses: addresses
                .iter()
                .filter_map(address)
                .take(MAX_ADDRESSES)
                .collect(),
            created_at: clean(&self.created_at, MAX_WORD),
            message: self
                .message
                .map(|message| clean(&message, MAX_MESSAGE))
                .filter(|message| !message.is_empty()),
            revision: revision(self.revision.as_deref()),
        })
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, WireError> {
    if depth(body) > MAX_DEPTH {
        return Err(WireError::TooDeep);
    }
    // The parser's own message could quote the body, so it is dropped.
    serde_json::from_slice(body).map_err(|_| WireError::NotTheShape)
}

/// The deepest nesting of a JSON text, brackets within strings apart. Counts, does not check.
fn depth(body: &[u8]) -> usize {
    let (mut now, mut deepest) = (0usize, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for byte in body {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                now += 1;
                deepest = deepest.max(now);
            }
            b']' | b'}' => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn phase(text: &str) -> InstancePhase {
    match text {
        "Provisioning" => InstancePhase::Provisioning,
        "Running" => InstancePhase::Running,
        "Starting" => InstancePhase::Starting,
        "Stopping" => InstancePhase::Stopping,
        "Stopped" => InstancePhase::Stopped,
        "Resizing" => InstancePhase::Resizing,
        "Deleting" => InstancePhase::Deleting,
        "Failed" => InstancePhase::Failed,
        other => InstancePhase::Other(clean(other, MAX_WORD)),
    }
}

/// The owner that the tags name; `None` where cluster or uid is missing.
fn owner(all: &BTreeMap<String, String>) -> Option<OwnerTag> {
    let text = |key| all.get(key).filter(|value| !value.is_empty());
    let number = text(tags::INCARNATION).and_then(|value| value.parse().ok());
    Some(OwnerTag {
        cluster: ClusterId::new(text(tags::CLUSTER)?.as_str()),
        uid: Uid::new(text(tags::UID)?.as_str()),
        incarnation: number
            .and_then(Incarnation::new)
            .unwrap_or(Incarnation::FIRST),
    })
}

/// An address that can be shown and used: visible ASCII, not empty. Others are left out.
fn address(wire: &VmAddress) -> Option<Address> {
    let fits = is_id(&wire.address);
    fits.then(|| Address {
        kind: match wire.kind.as_str() {
            "InternalIP" => AddressType::InternalIp,
            "ExternalIP" => AddressType::ExternalIp,
            "Hostname" => AddressType::Hostname,
            other => AddressType::Other(clean(other, MAX_WORD)),
        },
        address: wire.address.clone(),
    })
}

/// Control characters and the invisible ones that reorder or hide text on a terminal.
fn is_unsafe_to_show(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests;
