//! Moments and spans of time as people read them.

use serde::{Deserialize, Serialize};

/// A moment: milliseconds since 1970 in UTC, by the clock of the API server.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Stamp(pub i64);

impl Stamp {
    /// Seconds from `earlier` to here; negative when `earlier` is later.
    #[must_use]
    pub fn seconds_since(self, earlier: Self) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / 1000.0
    }

    /// So many seconds before.
    #[must_use]
    pub fn before(self, seconds: f64) -> Self {
        Self(self.0.saturating_sub((seconds * 1000.0) as i64))
    }

    /// The time of day in UTC, `12:34:56`.
    #[must_use]
    pub fn clock(self) -> String {
        let seconds = self.0.div_euclid(1000).rem_euclid(86_400);
        let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60);
        format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
    }
}

/// The age of an object as kubectl writes it. A moment that has not come yet is `0s`.
pub(crate) fn age(now: Stamp, then: Stamp) -> String {
    let seconds = now.0.saturating_sub(then.0).max(0) / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        _years if days < 365 * 1000 => format!("{}y", days / 365),
        _absurd => "very old".to_owned(),
    }
}

/// A short span of time: three digits and a unit, `–` for what is no number.
pub(crate) fn span(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "–".to_owned();
    }
    match seconds {
        0.0 => "0s".to_owned(),
        s if s < 0.0095 => format!("{:.1}ms", s * 1000.0),
        s if s < 0.9995 => format!("{:.0}ms", s * 1000.0),
        s if s < 9.95 => format!("{s:.1}s"),
        s if s < 120.0 => format!("{s:.0}s"),
        s if s < 7200.0 => format!("{:.0}m", s / 60.0),
        s if s < 172_800.0 => format!("{:.0}h", s / 3600.0),
        s => format!("{:.0}d", (s / 86_400.0).min(99_999.0)),
    }
}

/// A number of things in at most five places.
pub(crate) fn count(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    match value.abs() {
        v if v < 9999.5 => format!("{value:.0}"),
        v if v < 999_500.0 => format!("{:.0}k", value / 1e3),
        v if v < 999_500_000.0 => format!("{:.0}M", value / 1e6),
        _ => "many".to_owned(),
    }
}

/// Things per second.
pub(crate) fn rate(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    match value {
        0.0 => "0".to_owned(),
        v if v < 0.05 => "<0.1".to_owned(),
        v if v < 99.95 => format!("{v:.1}"),
        v => count(v),
    }
}

fn two(first: i64, unit: &str, second: i64, small: &str) -> String {
    if second == 0 {
        return format!("{first}{unit}");
    }
    format!("{first}{unit}{second}{small}")
}

#[cfg(test)]
mod tests;
