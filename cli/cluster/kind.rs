//! The kinds that verbs work on, and how a command line names kinds and objects.

use std::collections::BTreeSet;

use vmoperator::api::{GROUP, VERSION};

use crate::hint::{Exit, Failure};

/// A kind of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `VirtualMachine`.
    VirtualMachine,
    /// `ProviderConfig`.
    ProviderConfig,
    /// `Event`, which is not of our group.
    Event,
}

impl Kind {
    /// Every kind.
    const ALL: [Self; 3] = [Self::VirtualMachine, Self::ProviderConfig, Self::Event];

    /// The name of the kind.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::VirtualMachine => "VirtualMachine",
            Self::ProviderConfig => "ProviderConfig",
            Self::Event => "Event",
        }
    }

    /// Its plural in lower case, as in URLs.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::VirtualMachine => "virtualmachines",
            Self::ProviderConfig => "providerconfigs",
            Self::Event => "events",
        }
    }

    /// Its singular in lower case.
    fn singular(self) -> &'static str {
        match self {
            Self::VirtualMachine => "virtualmachine",
            Self::ProviderConfig => "providerconfig",
            Self::Event => "event",
        }
    }

    /// What a name of this kind may look like; the API server holds the same rule.
    fn naming(self) -> &'static str {
        match self {
            Self::VirtualMachine => {
                "a name begins with a letter a to z, goes on with at most 62 of a to z, 0 to 9 and '-', and does not end with '-': it also names a Service"
            }
            Self::ProviderConfig | Self::Event => {
                "a name has a to z, 0 to 9, '-' and '.', and begins and ends with a letter or a digit"
            }
        }
    }

    /// The short word for commands that we print.
    pub(crate) fn short(self) -> &'static str {
        match self {
            Self::VirtualMachine => "vm",
            Self::ProviderConfig => "pcfg",
            Self::Event => "events",
        }
    }

    /// Singular and group, as kubectl prints them before a name.
    pub(crate) fn resource(self) -> String {
        match self {
            Self::VirtualMachine | Self::ProviderConfig => format!("{}.{GROUP}", self.singular()),
            Self::Event => self.singular().to_owned(),
        }
    }

    /// Path of the collection; of all namespaces when none is given.
    pub(crate) fn path(self, namespace: Option<&str>) -> String {
        let plural = self.plural();
        let group = match self {
            Self::VirtualMachine | Self::ProviderConfig => format!("/apis/{GROUP}/{VERSION}"),
            Self::Event => "/api/v1".to_owned(),
        };
        match namespace {
            Some(namespace) => format!("{group}/namespaces/{namespace}/{plural}"),
            None => format!("{group}/{plural}"),
        }
    }

    /// The kind that a word means, in any of kubectl's spellings.
    pub(crate) fn of(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        let rest = word.strip_suffix(&format!(".{VERSION}.{GROUP}"));
        let rest = rest.or_else(|| word.strip_suffix(&format!(".{GROUP}")));
        let word = rest.unwrap_or(&word);
        Self::ALL.into_iter().find(|kind| {
            let short: &[&str] = match kind {
                Self::VirtualMachine => &["vm", "vms", "cvm"],
                Self::ProviderConfig => &["pcfg"],
                Self::Event => &["ev"],
            };
            word == kind.singular() || word == kind.plural() || short.contains(&word)
        })
    }
}

/// Objects that a command line names: a kind, and names, none of them twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// The kind of all of them.
    pub(crate) kind: Kind,
    /// Their names; none means that none was given.
    pub(crate) names: Vec<String>,
}

impl Named {
    /// Reads `KIND [NAME…]` or `KIND/NAME…`.
    ///
    /// # Errors
    /// An unknown kind, one that `allowed` lacks, two kinds, or a name that cannot be one.
    pub(crate) fn parse(words: &[String], allowed: &[Kind]) -> Result<Self, Failure> {
        let first = words.first().map_or("", String::as_str);
        if !first.contains('/') {
            let kind = kind(first, allowed)?;
            return Self::of(kind, words.iter().skip(1).map(String::as_str));
        }
        let mut names = Vec::new();
        let wanted = kind(first.split('/').next().unwrap_or_default(), allowed)?;
        for word in words {
            let Some((of, name)) = word.split_once('/') else {
                let cause = format!("{word:?} is not of the form KIND/NAME as the others are");
                return Err(usage("VMC-KIND", cause).fix("write all of them as KIND/NAME"));
            };
            if kind(of, allowed)? != wanted {
                let cause = format!("{first} and {word} are of different kinds");
                return Err(usage("VMC-KIND", cause).fix("run the command once for each kind"));
            }
            names.push(name);
        }
        Self::of(wanted, names.into_iter())
    }

    /// Names of one kind.
    ///
    /// # Errors
    /// A name that cannot be one.
    pub(crate) fn of<'a>(
        kind: Kind,
        words: impl Iterator<Item = &'a str>,
    ) -> Result<Self, Failure> {
        let mut seen = BTreeSet::new();
        let mut names = Vec::new();
        for word in words {
            if !is_name(word) {
                let cause = format!("{word:?} cannot be the name of a {}", kind.kind());
                return Err(usage("VMC-NAME", cause).fix(kind.naming()));
            }
            if seen.insert(word) {
                names.push(word.to_owned());
            }
        }
        Ok(Self { kind, names })
    }
}

/// The kind that a word means, if the verb works on it.
///
/// # Errors
/// It does not.
pub(crate) fn kind(word: &str, allowed: &[Kind]) -> Result<Kind, Failure> {
    match Kind::of(word) {
        Some(kind) if allowed.contains(&kind) => Ok(kind),
        Some(_) | None => {
            let known: Vec<&str> = allowed.iter().map(|kind| kind.short()).collect();
            let cause = format!("this verb does not work on {word:?}");
            Err(usage("VMC-KIND", cause).fix(format!("it works on: {}", known.join(", "))))
        }
    }
}

fn usage(id: &'static str, cause: String) -> Failure {
    Failure::new(Exit::Usage, id, cause)
}

/// Whether the API server could know an object or a namespace by that name; nothing else goes into a URL.
pub(crate) fn is_name(text: &str) -> bool {
    let known = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=253).contains(&text.len())
        && text.bytes().all(|c| known(c) || c == b'-' || c == b'.')
        && text.bytes().next().is_some_and(known)
        && text.bytes().next_back().is_some_and(known)
}

#[cfg(test)]
mod tests;
