//! Lists: paged, filtered by tag, and as stale as the settings want them.

use jiff::Timestamp;

use super::account::Account;
use super::tags::carries;
use super::{Code, ListQuery, Page, Refusal, Text, Vm, World, earlier, later};

/// Items on a page when the client does not say.
const DEFAULT_LIMIT: u32 = 500;
/// Most items that a client may ask for.
const MAX_LIMIT: u32 = 1000;

/// Where a list goes on.
struct Position {
    /// The last VM of the page before.
    after: u64,
    /// When that page was made.
    issued: i64,
    /// Which filter it had.
    filter: u32,
}

impl World {
    pub(super) fn list(&self, name: &Text, query: &ListQuery) -> Result<Page, Refusal> {
        let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Refusal::new(
                Code::InvalidRequest,
                format!("limit must be 1 to {MAX_LIMIT}, got {limit}"),
            ));
        }
        let limit = limit.min(self.settings.page_cap.max(1)) as usize;
        let filter = fingerprint(&query.tags);
        let after = query
            .token
            .as_deref()
            .map_or(Ok(0), |token| self.resume(token, filter))?;
        let seen = earlier(self.now, self.settings.list_lag);
        let Some(account) = self.accounts.get(name) else {
            return Ok(Page {
                items: Vec::new(),
                token: None,
                revision: 0,
            });
        };
        let mut items = if self.settings.list_lag.is_zero() {
            account.fresh(&query.tags, after, limit + 1)
        } else {
            account.stale(&query.tags, after, limit + 1, seen)
        };
        let more = items.len() > limit;
        items.truncate(limit);
        let token = items.last().filter(|_| more).map(|last| {
            let position = Position {
                after: last.id.number(),
                issued: self.now.as_millisecond(),
                filter,
            };
            position.write()
        });
        Ok(Page {
            items,
            token,
            revision: account.revision_at(seen),
        })
    }

    fn resume(&self, token: &str, filter: u32) -> Result<u64, Refusal> {
        let position = Position::read(token).ok_or_else(|| {
            Refusal::new(
                Code::InvalidRequest,
                "continue: not a token of this server; list from the start",
            )
        })?;
        if position.filter != filter {
            return Err(Refusal::new(
                Code::InvalidRequest,
                "continue: the token belongs to a list with other tags",
            ));
        }
        let issued = Timestamp::from_millisecond(position.issued).unwrap_or(Timestamp::MIN);
        if later(issued, self.settings.continue_lifetime) <= self.now {
            return Err(Refusal::new(
                Code::ContinueExpired,
                "the continue token has expired; list from the start",
            ));
        }
        Ok(position.after)
    }
}

impl Account {
    /// What is there now.
    fn fresh(&self, tags: &[(String, String)], after: u64, limit: usize) -> Vec<Vm> {
        if tags.is_empty() {
            let rest = self.live.range(after.saturating_add(1)..);
            return rest
                .take(limit)
                .map(|(_, record)| record.vm.clone())
                .collect();
        }
        let candidates = self.tags.candidates(tags, after);
        let found = candidates
            .iter()
            .filter_map(|number| Some(&self.live.get(number)?.vm));
        found
            .filter(|vm| carries(vm, tags))
            .take(limit)
            .cloned()
            .collect()
    }

    /// What was there at `seen`: a look at every VM, since the index knows only how things are now.
    fn stale(
        &self,
        tags: &[(String, String)],
        after: u64,
        limit: usize,
        seen: Timestamp,
    ) -> Vec<Vm> {
        let from = after.saturating_add(1)..;
        let (live, gone) = (self.live.range(from.clone()), self.gone.range(from));
        let mut found: Vec<&Vm> = live
            .chain(gone)
            .filter_map(|(_, record)| record.at(seen))
            .collect();
        found.retain(|vm| carries(vm, tags));
        found.sort_unstable_by_key(|vm| vm.id);
        found.into_iter().take(limit).cloned().collect()
    }
}

impl Position {
    fn write(&self) -> String {
        format!("{:x}.{:x}.{:x}", self.after, self.issued, self.filter)
    }

    fn read(token: &str) -> Option<Self> {
        let mut parts = token.split('.');
        let after = u64::from_str_radix(parts.next()?, 16).ok()?;
        let issued = i64::from_str_radix(parts.next()?, 16).ok()?;
        let filter = u32::from_str_radix(parts.next()?, 16).ok()?;
        parts.next().is_none().then_some(Self {
            after,
            issued,
            filter,
        })
    }
}

/// Equal for equal filters, whatever their order.
fn fingerprint(tags: &[(String, String)]) -> u32 {
    let mut tags: Vec<_> = tags.iter().collect();
    tags.sort_unstable();
    let bytes = tags
        .iter()
        .flat_map(|(key, value)| [key.as_bytes(), &[0xff], value.as_bytes(), &[0xfe]]);
    bytes.flatten().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}
