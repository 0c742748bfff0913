//! The settings that may change while the cloud runs.

use std::time::Duration;

use axum::extract::State;
use serde::{Deserialize, Serialize};

use super::body::{Json, Problem, reply};
use super::{Answer, Shared};
use crate::options::rate;
use crate::world::Settings;

/// The settings as they are written; durations in milliseconds.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SettingsBody {
    provisioning_milliseconds: Option<u64>,
    provisioning_jitter_milliseconds: Option<u64>,
    delete_delay_milliseconds: Option<u64>,
    list_lag_milliseconds: Option<u64>,
    latency_milliseconds: Option<u64>,
    latency_jitter_milliseconds: Option<u64>,
    latency_tail_milliseconds: Option<u64>,
    latency_tail_share: Option<f64>,
    /// 0 lifts the limit.
    rate_limit: Option<f64>,
    rate_burst: Option<u32>,
    /// A negative one lifts the limit.
    quota: Option<i64>,
    page_size: Option<u32>,
    continue_lifetime_milliseconds: Option<u64>,
}

pub(super) async fn show(State(cloud): Shared) -> Answer {
    Ok(cloud.with(|inner| reply(200, &SettingsBody::from(inner.world.settings()))))
}

pub(super) async fn change(State(cloud): Shared, Json(body): Json<SettingsBody>) -> Answer {
    body.check()?;
    Ok(cloud.with(|inner| {
        let mut settings = inner.world.settings().clone();
        body.apply(&mut settings);
        inner.world.set_settings(settings);
        reply(200, &SettingsBody::from(inner.world.settings()))
    }))
}

impl SettingsBody {
    fn check(&self) -> Result<(), Problem> {
        if self
            .latency_tail_share
            .is_some_and(|share| !(0.0..=1.0).contains(&share))
        {
            return Err(Problem::invalid("latencyTailShare must be 0 to 1"));
        }
        if self
            .rate_limit
            .is_some_and(|limit| !(limit >= 0.0 && limit.is_finite()))
        {
            return Err(Problem::invalid(
                "rateLimit must be calls per second, or 0 for none",
            ));
        }
        if self
            .page_size
            .is_some_and(|size| !(1..=1000).contains(&size))
        {
            return Err(Problem::invalid("pageSize must be 1 to 1000"));
        }
        Ok(())
    }

    fn apply(&self, settings: &mut Settings) {
        let set = |place: &mut Duration, milliseconds: Option<u64>| {
            *place = milliseconds.map_or(*place, Duration::from_millis);
        };
        set(
            &mut settings.provisioning.base,
            self.provisioning_milliseconds,
        );
        set(
            &mut settings.provisioning.jitter,
            self.provisioning_jitter_milliseconds,
        );
        set(&mut settings.delete_delay, self.delete_delay_milliseconds);
        set(&mut settings.list_lag, self.list_lag_milliseconds);
        set(&mut settings.latency.body.base, self.latency_milliseconds);
        set(
            &mut settings.latency.body.jitter,
            self.latency_jitter_milliseconds,
        );
        set(&mut settings.latency.tail, self.latency_tail_milliseconds);
        set(
            &mut settings.continue_lifetime,
            self.continue_lifetime_milliseconds,
        );
        settings.latency.tail_share = self
            .latency_tail_share
            .unwrap_or(settings.latency.tail_share);
        settings.page_cap = self.page_size.unwrap_or(settings.page_cap);
        match self.rate_limit {
            Some(limit) if limit > 0.0 => settings.rate = Some(rate(limit, self.rate_burst)),
            Some(_) => settings.rate = None,
            None => {
                if let (Some(known), Some(burst)) = (&mut settings.rate, self.rate_burst) {
                    known.burst = burst.max(1);
                }
            }
        }
        if let Some(quota) = self.quota {
            settings.quota = u32::try_from(quota).ok();
        }
    }
}

impl From<&Settings> for SettingsBody {
    fn from(settings: &Settings) -> Self {
        let milliseconds = |duration: Duration| u64::try_from(duration.as_millis()).ok();
        Self {
            provisioning_milliseconds: milliseconds(settings.provisioning.base),
            provisioning_jitter_milliseconds: milliseconds(settings.provisioning.jitter),
            delete_delay_milliseconds: milliseconds(settings.delete_delay),
            list_lag_milliseconds: milliseconds(settings.list_lag),
            latency_milliseconds: milliseconds(settings.latency.body.base),
            latency_jitter_milliseconds: milliseconds(settings.latency.body.jitter),
            latency_tail_milliseconds: milliseconds(settings.latency.tail),
            latency_tail_share: Some(settings.latency.tail_share),
            rate_limit: Some(settings.rate.map_or(0.0, |rate| rate.per_second)),
            rate_burst: settings.rate.map(|rate| rate.burst),
            quota: Some(settings.quota.map_or(-1, i64::from)),
            page_size: Some(settings.page_cap),
            continue_lifetime_milliseconds: milliseconds(settings.continue_lifetime),
        }
    }
}
