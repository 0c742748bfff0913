//! Time limits on the command line.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Longest limit: 30 days.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// A time limit such as `30s`, `5m` or `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Duration);

/// The text is no time limit.
#[derive(Debug, thiserror::Error)]
#[error("a time limit is a number with a unit, up to 30 days, such as 30s, 5m or 1h30m")]
pub(crate) struct Error;

impl FromStr for Limit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "0" {
            return Ok(Self(Duration::ZERO));
        }
        let parsed: jiff::SignedDuration = text.parse().map_err(|_| Error)?;
        let limit = Duration::try_from(parsed).map_err(|_| Error)?;
        if limit <= LONGEST {
            Ok(Self(limit))
        } else {
            Err(Error)
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        let (hours, minutes, seconds) =
            (millis / 3_600_000, millis / 60_000 % 60, millis / 1000 % 60);
        let parts = [
            (hours, "h"),
            (minutes, "m"),
            (seconds, "s"),
            (millis % 1000, "ms"),
        ];
        let mut empty = true;
        for (number, unit) in parts.into_iter().filter(|(number, _)| *number > 0) {
            empty = false;
            write!(formatter, "{number}{unit}")?;
        }
        if empty {
            formatter.write_str("0s")
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_people_write_them_and_written_alike() {
        for (text, millis, shown) in [
            ("0", 0, "0s"),
            ("0s", 0, "0s"),
            ("500ms", 500, "500ms"),
            ("90s", 90_000, "1m30s"),
            ("5m", 300_000, "5m"),
            ("1h30m", 5_400_000, "1h30m"),
        ] {
            let limit: Limit = text.parse().unwrap();
            assert_eq!(
                (limit.0, limit.to_string().as_str()),
                (Duration::from_millis(millis), shown),
                "{text}"
            );
        }
        for text in [
            "",
            "5",
            "-1s",
            "5 lightyears",
            "31d",
            "9999999999999999999s",
            "1e9s",
        ] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
    }
}
