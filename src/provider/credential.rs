//! The key that a provider's API asks for. Cannot be printed, compared or written anywhere by accident.

use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

/// Longest key that is taken, in bytes: servers refuse longer headers anyway.
const MAX_LENGTH: usize = 4096;

/// An API key, sent as `Authorization: Bearer <key>` and nowhere else.
///
/// It has neither `Debug` nor `Display` nor `Serialize`, and its memory is overwritten when it is dropped.
pub struct Credential(SecretString);

/// Why a text is no API key. Says nothing of the text but its fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// Nothing there.
    #[error("the API key is empty: put the key into the Secret")]
    Empty,
    /// A key that was written with the line break of its file.
    #[error("the API key ends with a line break: write it without one (printf, not echo)")]
    LineBreak,
    /// A header can carry visible ASCII alone.
    #[error(
        "the API key has a blank, a control character or one beyond ASCII: check how the Secret was made"
    )]
    Character,
    /// Longer than any server takes.
    #[error(
        "the API key is longer than {MAX_LENGTH} bytes: check that the Secret holds the key alone"
    )]
    TooLong,
}

impl Credential {
    /// Takes a key: 1 to 4,096 visible ASCII characters. Nothing is trimmed, because a key with a blank
    /// around it is a mistake to be told.
    ///
    /// # Errors
    /// [`CredentialError`] says what is wrong with it.
    pub fn new(key: impl Into<SecretString>) -> Result<Self, CredentialError> {
        let key = key.into();
        let text = key.expose_secret();
        if text.is_empty() {
            return Err(CredentialError::Empty);
        }
        if text.len() > MAX_LENGTH {
            return Err(CredentialError::TooLong);
        }
        if text.trim_end_matches(['\n', '\r']).len() < text.len() {
            return Err(CredentialError::LineBreak);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(CredentialError::Character);
        }
        Ok(Self(key))
    }

    /// The header, marked so that no log of the HTTP client shows it.
    pub(super) fn header(&self) -> Result<HeaderValue, CredentialError> {
        let text = SecretString::from(format!("Bearer {}", self.0.expose_secret()));
        let mut value =
            HeaderValue::from_str(text.expose_secret()).map_err(|_| CredentialError::Character)?;
        value.set_sensitive(true);
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
