//! Following objects: a list, then a watch that outlives its end at the server, a too old version (410), a dropped
//! connection and a restarted API server. It ends only where going on is hopeless, and then says why.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use futures::StreamExt;
use serde_json::Value;

use super::call::{Collection, Error, Filter, Form, Lines, taken};
use super::object::Object;
use super::table::{self, Column};
use crate::clock;
use crate::hint::Failure;

/// How long the server is asked to keep a watch open.
const WATCH_SECONDS: u32 = 60;
/// A watch that is silent for longer than the server may keep it open is a connection that was dropped on the way.
const IDLE: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 15);
/// First and longest pause between attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(4));
/// How long refusals that a starting API server may give are borne.
const PATIENCE: Duration = Duration::from_secs(30);

/// One object, in the form that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    /// The object, or as much of it as comes with a row.
    pub(crate) object: Value,
    /// Cells of its row; none where objects are followed.
    pub(crate) cells: Vec<Value>,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// The columns of the rows that follow.
    Columns(Vec<Column>),
    /// An object is new or has changed.
    Present(Item),
    /// An object is gone; this is how it was last.
    Gone(Item),
    /// Everything that exists has been told.
    Listed,
    /// The connection is lost; it is tried again.
    Cut(String),
    /// The connection is back.
    Back,
}

/// Follows objects of a collection.
pub(crate) struct Follow {
    collection: Collection,
    filter: Filter,
    form: Form,
    /// What was told, by namespace and name.
    known: BTreeMap<(String, String), Item>,
    changes: VecDeque<Change>,
    /// Where the watch goes on; a list is due without it.
    version: Option<String>,
    lines: Option<Lines>,
    /// Whether everything was told once.
    begun: bool,
    /// Whether nothing works at the moment.
    cut: bool,
    pause: Duration,
    /// Time spent on nothing but refusals.
    refused: Duration,
}

impl Follow {
    /// Begins with a list at the first call of [`Follow::next`].
    pub(crate) fn new(collection: Collection, filter: Filter, form: Form) -> Self {
        Self {
            collection,
            filter,
            form,
            known: BTreeMap::new(),
            changes: VecDeque::new(),
            version: None,
            lines: None,
            begun: false,
            cut: false,
            pause: PAUSES.0,
            refused: Duration::ZERO,
        }
    }

    /// Whether the connection is lost at the moment.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// The next change. Dropping the future may lose the call that is under way, not a change.
    ///
    /// # Errors
    /// The first list fails, or refusals stay: the rights are gone, or the kind.
    pub(crate) async fn next(&mut self) -> Result<Change, Failure> {
        loop {
            if let Some(change) = self.changes.pop_front() {
                return Ok(change);
            }
            if let Err(error) = self.advance().await {
                self.trouble(error).await?;
            }
        }
    }

    async fn advance(&mut self) -> Result<(), Error> {
        let Some(version) = self.version.clone() else {
            let list = self.collection.list(&self.filter, self.form).await?;
            return self.take_list(list);
        };
        let Some(lines) = &mut self.lines else {
            let watch = self
                .collection
                .watch(&self.filter, self.form, &version, WATCH_SECONDS)
                .await?;
            self.lines = Some(watch);
            self.works();
            return Ok(());
        };
        match tokio::time::timeout(IDLE, lines.next()).await {
            Ok(Some(Ok(line))) => self.take_line(&line),
            Ok(Some(Err(error))) => Err(odd(format!("the connection broke: {error}"))),
            Ok(None) => {
                self.lines = None;
                // A server that ends watches at once must not be asked in a tight loop.
                clock::sleep(PAUSES.0).await;
                Ok(())
            }
            Err(_elapsed) => Err(odd(format!("nothing was heard for {} s", IDLE.as_secs()))),
        }
    }

    fn works(&mut self) {
        self.refused = Duration::ZERO;
        if std::mem::take(&mut self.cut) {
            self.changes.push_back(Change::Back);
        }
    }

    async fn trouble(&mut self, error: Error) -> Result<(), Failure> {
        self.lines = None;
        if !self.begun {
            return Err(self.collection.failed(error));
        }
        if error.code() == Some(410) {
            self.version = None;
            clock::sleep(PAUSES.0).await;
            return Ok(());
        }
        if !self.cut {
            self.cut = true;
            self.pause = PAUSES.0;
            self.changes.push_back(Change::Cut(error.to_string()));
            return Ok(());
        }
        // An API server that starts may refuse what it will grant.
        if matches!(error.code(), Some(401 | 403 | 404)) {
            if self.refused > PATIENCE {
                return Err(self.collection.failed(error));
            }
            self.refused += self.pause;
        } else {
            self.refused = Duration::ZERO;
        }
        clock::sleep(self.pause).await;
        self.pause = PAUSES.1.min(self.pause * 2);
        Ok(())
    }

    fn take_list(&mut self, list: Value) -> Result<(), Error> {
        let version = list["metadata"]["resourceVersion"].as_str();
        let Some(version) = version.filter(|version| !version.is_empty()) else {
            return Err(odd("a list without a version".to_owned()));
        };
        let version = version.to_owned();
        self.works();
        self.take_columns(&list);
        let mut before = std::mem::take(&mut self.known);
        for item in items(list, self.form) {
            let (key, object) = (key(&item), Object(&item.object));
            if let Some(old) = before.remove(&key) {
                let was = Object(&old.object);
                if was.uid() == object.uid() && was.version() == object.version() {
                    self.known.insert(key, old);
                    continue;
                }
                if was.uid() != object.uid() {
                    self.changes.push_back(Change::Gone(old));
                }
            }
            self.known.insert(key, item.clone());
            self.changes.push_back(Change::Present(item));
        }
        let gone = before.into_values().map(Change::Gone);
        self.changes.extend(gone);
        self.changes.push_back(Change::Listed);
        self.version = Some(version);
        self.begun = true;
        Ok(())
    }

    fn take_line(&mut self, line: &str) -> Result<(), Error> {
        let mut event: Value =
            serde_json::from_str(line).map_err(|error| odd(format!("a watch event: {error}")))?;
        let object = taken(&mut event, "object");
        match event["type"].as_str().unwrap_or_default() {
            "ERROR" => match serde_json::from_value(object) {
                Ok(status) => Err(Error::Refused {
                    what: "go on watching".to_owned(),
                    status: Box::new(status),
                }),
                Err(error) => Err(odd(format!("a watch error: {error}"))),
            },
            "BOOKMARK" => {
                self.note_version(&object);
                Ok(())
            }
            kind @ ("ADDED" | "MODIFIED" | "DELETED") => {
                let deleted = kind == "DELETED";
                self.take_columns(&object);
                let list = match self.form {
                    Form::Table if object["kind"] == "Table" => items(object, self.form),
                    Form::Table | Form::Objects => vec![bare(object)],
                };
                for item in list {
                    self.take_item(item, deleted);
                }
                Ok(())
            }
            other => Err(odd(format!("a watch event of type {other:?}"))),
        }
    }

    fn take_item(&mut self, item: Item, deleted: bool) {
        self.note_version(&item.object);
        let key = key(&item);
        if deleted {
            self.known.remove(&key);
            self.changes.push_back(Change::Gone(item));
            return;
        }
        let seen = self.known.insert(key, item.clone());
        if seen.is_none_or(|seen| Object(&seen.object).version() != Object(&item.object).version())
        {
            self.changes.push_back(Change::Present(item));
        }
    }

    fn take_columns(&mut self, table: &Value) {
        let columns = table::columns(table);
        if !columns.is_empty() {
            self.changes.push_back(Change::Columns(columns));
        }
    }

    fn note_version(&mut self, object: &Value) {
        let version = Object(object).version();
        let version = if version.is_empty() {
            Object(&object["rows"][0]["object"]).version()
        } else {
            version
        };
        if !version.is_empty() {
            self.version = Some(version.to_owned());
        }
    }
}

/// The items of a list or of a table; an object that is neither is the one item.
pub(crate) fn items(mut list: Value, form: Form) -> Vec<Item> {
    let is_table = form == Form::Table && list["kind"] == "Table";
    let part = if is_table { "rows" } else { "items" };
    if list.get(part).is_none() && list["metadata"]["name"].is_string() {
        return vec![bare(list)];
    }
    let Value::Array(list) = taken(&mut list, part) else {
        return Vec::new();
    };
    if !is_table {
        return list.into_iter().map(bare).collect();
    }
    let row = |mut row: Value| Item {
        object: taken(&mut row, "object"),
        cells: match taken(&mut row, "cells") {
            Value::Array(cells) => cells,
            _none => Vec::new(),
        },
    };
    list.into_iter().map(row).collect()
}

fn bare(object: Value) -> Item {
    Item {
        object,
        cells: Vec::new(),
    }
}

fn key(item: &Item) -> (String, String) {
    let object = Object(&item.object);
    (object.namespace().to_owned(), object.name().to_owned())
}

fn odd(why: String) -> Error {
    Error::Odd {
        what: "go on watching".to_owned(),
        why,
    }
}

#[cfg(test)]
mod tests;
