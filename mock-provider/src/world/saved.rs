//! What of the cloud survives a restart.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer, ser::SerializeSeq};

use super::account::Account;
use super::keys::Key;
use super::record::Record;
use super::{Digest, Due, Text, World};

/// The layout that this program writes and reads.
const FORMAT: u32 = 1;

/// The state to write, borrowed from the world.
#[derive(Debug, Serialize)]
pub struct Saved<'a> {
    format: u32,
    #[serde(rename = "nextNumber")]
    next_number: u64,
    accounts: BTreeMap<&'a Text, SavedAccount<'a>>,
}

#[derive(Debug, Serialize)]
struct SavedAccount<'a> {
    revision: u64,
    floor: u64,
    #[serde(serialize_with = "values")]
    live: &'a BTreeMap<u64, Box<Record>>,
    #[serde(serialize_with = "values")]
    gone: &'a BTreeMap<u64, Box<Record>>,
    keys: Vec<(&'a Text, &'a Key)>,
}

/// The state as it was read.
#[derive(Debug, Deserialize)]
pub struct Loaded {
    format: u32,
    #[serde(rename = "nextNumber")]
    next_number: u64,
    accounts: BTreeMap<Text, LoadedAccount>,
}

#[derive(Debug, Deserialize)]
struct LoadedAccount {
    revision: u64,
    floor: u64,
    live: Vec<Record>,
    gone: Vec<Record>,
    keys: Vec<(Text, Key)>,
}

/// Why a saved state is of no use.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Written by another program or a later version of this one.
    #[error("has format {found}, this program reads format {FORMAT}")]
    Format {
        /// What it says.
        found: u32,
    },
    /// Two VMs with one number or address, or a number that is still to be given: not written by this program.
    #[error("contradicts itself: {what}")]
    Contradiction {
        /// Which rule is broken.
        what: String,
    },
}

impl World {
    /// The state that a restart must preserve.
    #[must_use]
    pub fn save(&self) -> Saved<'_> {
        let accounts = self.accounts.iter().map(|(name, account)| {
            let saved = SavedAccount {
                revision: account.revision,
                floor: account.floor,
                live: &account.live,
                gone: &account.gone,
                keys: account.keys.iter().collect(),
            };
            (name, saved)
        });
        Saved {
            format: FORMAT,
            next_number: self.next_number,
            accounts: accounts.collect(),
        }
    }

    /// Takes over a saved state, in place of whatever is there.
    ///
    /// # Errors
    /// See [`LoadError`]; the world is of no use then.
    pub fn load(&mut self, loaded: Loaded) -> Result<(), LoadError> {
        if loaded.format != FORMAT {
            return Err(LoadError::Format {
                found: loaded.format,
            });
        }
        self.next_number = loaded.next_number;
        for (name, saved) in loaded.accounts {
            let account = self.revive(&name, saved)?;
            self.accounts.insert(name, account);
        }
        Ok(())
    }

    fn revive(&mut self, name: &Text, saved: LoadedAccount) -> Result<Account, LoadError> {
        let mut account = Account {
            revision: saved.revision,
            floor: saved.floor,
            ..Account::default()
        };
        for mut record in saved.live {
            let vm = &record.vm;
            if vm.address.is_some_and(|slot| !self.addresses.reserve(slot)) {
                return Err(contradiction(format!("the address of {} is taken", vm.id)));
            }
            if let Some(at) = record.due {
                self.due.push(Reverse(Due {
                    at,
                    number: vm.id.number(),
                    account: name.clone(),
                }));
            }
            record.share(&mut self.interner);
            account.tags.insert(&record.vm);
            self.place(&mut account, record)?;
        }
        for mut record in saved.gone {
            record.share(&mut self.interner);
            self.place(&mut account, record)?;
        }
        let mut gone: Vec<(Option<Timestamp>, u64)> = account
            .gone
            .values()
            .map(|record| (record.deleted_at, record.vm.id.number()))
            .collect();
        gone.sort_unstable();
        account.gone_order = gone.into_iter().map(|(_, number)| number).collect();
        for (key, known) in saved.keys {
            account.keys.insert(key, known);
        }
        Ok(account)
    }

    fn place(&self, account: &mut Account, record: Record) -> Result<(), LoadError> {
        let (number, revision) = (record.vm.id.number(), record.vm.revision);
        if number >= self.next_number || revision > account.revision {
            return Err(contradiction(format!(
                "{} is ahead of the counters",
                record.vm.id
            )));
        }
        let place = if record.deleted_at.is_some() {
            &mut account.gone
        } else {
            &mut account.live
        };
        if place.insert(number, Box::new(record)).is_some()
            || account.changes.insert(revision, number).is_some()
        {
            return Err(contradiction(format!(
                "VM number {number} or its revision occurs twice"
            )));
        }
        Ok(())
    }
}

fn contradiction(what: String) -> LoadError {
    LoadError::Contradiction { what }
}

fn values<S: Serializer>(
    records: &&BTreeMap<u64, Box<Record>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut sequence = serializer.serialize_seq(Some(records.len()))?;
    for record in records.values() {
        sequence.serialize_element(record)?;
    }
    sequence.end()
}

// JSON numbers end at 64 bits, so a digest is written as text.
impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16)
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}
