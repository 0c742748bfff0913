//! Percentiles of histograms.

use serde::Serialize;

/// A percentile as far as buckets tell it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Estimate {
    /// Seconds, interpolated within a bucket.
    About(f64),
    /// At least so many seconds: it is beyond the largest bucket.
    AtLeast(f64),
}

impl Estimate {
    /// The number of seconds, which may be too small for what is beyond the buckets.
    #[must_use]
    pub fn seconds(self) -> f64 {
        match self {
            Self::About(seconds) | Self::AtLeast(seconds) => seconds,
        }
    }
}

/// The `q`-quantile (0 to 1) of cumulative buckets in the order of their upper bounds, the last of them infinite, as
/// Prometheus interpolates it: linearly within a bucket, the first beginning at 0. `None` without an observation.
#[must_use]
pub fn quantile(q: f64, buckets: &[(f64, f64)]) -> Option<Estimate> {
    let (_, total) = *buckets.last()?;
    if total.is_nan() || total <= 0.0 {
        return None;
    }
    let rank = q * total;
    let index = buckets.iter().position(|(_, count)| *count >= rank)?;
    let (bound, count) = *buckets.get(index)?;
    let (lower, before) = match index.checked_sub(1).and_then(|index| buckets.get(index)) {
        Some((lower, before)) => (*lower, *before),
        None => (0.0, 0.0),
    };
    if !bound.is_finite() {
        return Some(Estimate::AtLeast(lower));
    }
    let inside = count - before;
    if inside <= 0.0 {
        return Some(Estimate::About(bound));
    }
    Some(Estimate::About(
        lower + (bound - lower) * ((rank - before) / inside).clamp(0.0, 1.0),
    ))
}
