//! Names of environments.

use std::fmt;
use std::str::FromStr;

/// A name that is fit for a directory and a label: a DNS label of at most 32 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name(String);

/// The text is no name.
#[derive(Debug, thiserror::Error)]
#[error(
    "a name has 1 to 32 characters, a to z, 0 to 9 and '-', and begins and ends with a letter or a digit"
)]
pub(crate) struct Error;

impl Name {
    /// The text of it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let fits = (1..=32).contains(&text.len());
        let known = text
            .bytes()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-');
        let ends = !text.starts_with('-') && !text.ends_with('-');
        if fits && known && ends {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error)
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_fit_for_a_directory_and_a_label_is_a_name() {
        for name in ["dev", "a", "0", "team-a-2", &"x".repeat(32)] {
            assert!(name.parse::<Name>().is_ok(), "{name}");
        }
        for name in [
            "",
            "-a",
            "a-",
            "Dev",
            "a/b",
            "..",
            "a.b",
            "ä",
            &"x".repeat(33),
        ] {
            assert!(name.parse::<Name>().is_err(), "{name}");
        }
    }
}
