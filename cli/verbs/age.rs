//! Ages in kubectl's words: `45s`, `5m12s`, `3h`, `2d4h`.

use std::time::Duration;

use jiff::Timestamp;

use crate::clock;

/// How long ago a time of the API server was; `-` where there is none, `0s` where clocks differ.
pub(crate) fn since(time: &str) -> String {
    match time.parse::<Timestamp>() {
        Ok(time) => {
            words(Duration::try_from(clock::timestamp().duration_since(time)).unwrap_or_default())
        }
        Err(_) => "-".to_owned(),
    }
}

/// How long until a time; `now` once it is over.
pub(crate) fn until(time: &str) -> String {
    let left = time
        .parse::<Timestamp>()
        .map(|time| time.duration_since(clock::timestamp()));
    match left.map(Duration::try_from) {
        Ok(Ok(left)) if !left.is_zero() => format!("in {}", words(left)),
        Ok(Ok(_) | Err(_)) => "now".to_owned(),
        Err(_) => "-".to_owned(),
    }
}

/// A duration with one unit or two, as much as a column needs.
pub(crate) fn words(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |big: u64, unit: &str, small: u64, rest: &str| {
        if small == 0 {
            format!("{big}{unit}")
        } else {
            format!("{big}{unit}{small}{rest}")
        }
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if hours < 3 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, "d", hours % 24, "h"),
        () if days < 730 => format!("{days}d"),
        () => two(days / 365, "y", days % 365, "d"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_kubectls() {
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (312, "5m12s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_100, "3h5m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (187_200, "2d4h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
        ] {
            assert_eq!(words(Duration::from_secs(seconds)), text, "{seconds}");
        }
        assert_eq!((since("soon").as_str(), until("").as_str()), ("-", "-"));
        assert_eq!(since("2999-01-01T00:00:00Z"), "0s");
        assert_eq!(until("2001-01-01T00:00:00Z"), "now");
    }
}
