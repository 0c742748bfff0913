//! Shared immutable strings: a hundred thousand VMs mostly say the same words.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Beyond this many different words nothing more is shared: whoever sends random words must not make the table grow.
const WORDS: usize = 10_000;

/// An immutable string that costs nothing to copy.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Arc<str>);

/// Gives equal words the same memory.
#[derive(Debug, Default)]
pub(super) struct Interner {
    words: HashSet<Text>,
    /// The value that each tag key had last: of most keys every VM has the same.
    latest: HashMap<Text, Text>,
}

impl Interner {
    pub(super) fn share(&mut self, word: &str) -> Text {
        if let Some(known) = self.words.get(word) {
            return known.clone();
        }
        let word = Text::from(word);
        if self.words.len() < WORDS {
            self.words.insert(word.clone());
        }
        word
    }

    /// Shares a tag's key, and its value with the last VM that had the same.
    pub(super) fn share_tag(&mut self, key: &str, value: &str) -> (Text, Text) {
        let key = self.share(key);
        if let Some(latest) = self.latest.get(&key).filter(|latest| ***latest == *value) {
            return (key, latest.clone());
        }
        let value = Text::from(value);
        if self.latest.len() < WORDS || self.latest.contains_key(&key) {
            self.latest.insert(key.clone(), value.clone());
        }
        (key, value)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(Arc::from(text))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Arc::from(text))
    }
}

impl Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}
