//! The rate limit of one account.

use jiff::Timestamp;

use super::{Code, Rate, Refusal};

/// A token bucket that starts full.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    /// Tokens left, and when that was so; `None` before the first call.
    level: Option<(f64, Timestamp)>,
}

impl Bucket {
    /// Takes one token, or says in how many whole seconds there will be one.
    pub(super) fn admit(&mut self, rate: Option<Rate>, now: Timestamp) -> Result<(), Refusal> {
        let Some(Rate { per_second, burst }) = rate else {
            return Ok(());
        };
        let full = f64::from(burst.max(1));
        let tokens = self.level.map_or(full, |(tokens, then)| {
            full.min(tokens + now.duration_since(then).as_secs_f64().max(0.0) * per_second)
        });
        let admitted = tokens >= 1.0;
        self.level = Some((if admitted { tokens - 1.0 } else { tokens }, now));
        if admitted {
            return Ok(());
        }
        let wait = ((1.0 - tokens) / per_second).ceil().max(1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least 1; saturates where absurd"
        )]
        let retry_after = Some(wait as u64);
        Err(Refusal {
            retry_after,
            ..Refusal::new(
                Code::RateLimited,
                format!("more than {per_second} calls per second"),
            )
        })
    }
}
