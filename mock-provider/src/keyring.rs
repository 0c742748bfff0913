//! API keys and whose they are.

use std::collections::BTreeMap;

use axum::http::HeaderMap;

use crate::world::{Code, Refusal, Text};

/// The account of everybody while no key is asked for.
pub(crate) const OPEN_ACCOUNT: &str = "default";

/// API keys in force.
#[derive(Debug)]
pub(crate) struct Keyring {
    accounts: BTreeMap<Secret, Text>,
    /// Once a key was asked for, revoking the last one locks everybody out instead of letting everybody in.
    required: bool,
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// `None`: nobody that is known.
    pub(crate) account: Option<Text>,
    /// What stands for the key in logs; `None` when none was sent.
    pub(crate) fingerprint: Option<String>,
}

/// An API key; never shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(secret: &str) -> Option<Self> {
        let good = !secret.is_empty() && secret.bytes().all(|byte| byte.is_ascii_graphic());
        good.then(|| Self(secret.into()))
    }

    /// Eight hexadecimal digits that are always the same for the same key and too few to find it again.
    pub(crate) fn fingerprint(&self) -> String {
        let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = self.0.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
        format!("{:08x}", (hash ^ (hash >> 32)) & 0xffff_ffff)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({})", self.fingerprint())
    }
}

impl Keyring {
    pub(crate) fn new(keys: impl IntoIterator<Item = (Secret, Text)>) -> Self {
        let accounts = BTreeMap::from_iter(keys);
        Self {
            required: !accounts.is_empty(),
            accounts,
        }
    }

    pub(crate) fn identify(&self, headers: &HeaderMap) -> Caller {
        let bearer = headers
            .get("authorization")
            .and_then(|value| value.to_str().ok())
            .and_then(|value| {
                let (scheme, key) = value.split_once(' ')?;
                scheme
                    .eq_ignore_ascii_case("bearer")
                    .then(|| Secret::new(key.trim()))?
            });
        let account = match &bearer {
            _ if !self.required => Some(Text::from(OPEN_ACCOUNT)),
            Some(secret) => self.accounts.get(secret).cloned(),
            None => None,
        };
        Caller {
            account,
            fingerprint: bearer.map(|secret| secret.fingerprint()),
        }
    }

    /// Adds a key, or gives a known one to another account. From then on a key is asked for.
    pub(crate) fn add(&mut self, secret: Secret, account: Text) {
        self.required = true;
        self.accounts.insert(secret, account);
    }

    /// Revokes keys by fingerprint; says how many.
    pub(crate) fn revoke(&mut self, fingerprint: &str) -> usize {
        let before = self.accounts.len();
        self.accounts
            .retain(|secret, _| secret.fingerprint() != fingerprint);
        before - self.accounts.len()
    }

    pub(crate) fn required(&self) -> bool {
        self.required
    }

    /// Fingerprints and accounts.
    pub(crate) fn list(&self) -> impl Iterator<Item = (String, &Text)> {
        self.accounts
            .iter()
            .map(|(secret, account)| (secret.fingerprint(), account))
    }
}

/// The refusal of a caller who is nobody.
pub(crate) fn unauthenticated() -> Refusal {
    Refusal::new(
        Code::Unauthenticated,
        "send a valid API key as Authorization: Bearer <key>",
    )
}
