//! Calls to providers: how many, how long they take, what fails.

use std::collections::BTreeMap;

use ratatui_core::layout::Rect;

use super::canvas::Canvas;
use super::queue::{rest, trend};
use super::theme::Role;
use super::why;
use crate::age::{count, rate, span};
use crate::message::Outlet;
use crate::model::Model;
use crate::numbers::{Calls, Counter, Estimate, Levels, Numbers, Series};
use crate::world::World;

/// Draws them.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let world = model.world();
    configs(canvas, area, world);
    let rest = Rect {
        y: area.y.saturating_add(1),
        height: area.height.saturating_sub(1),
        ..area
    };
    let lacking = world.no_numbers();
    if world.numbers.is_empty() {
        why(
            canvas,
            rest,
            "latency of provider calls",
            lacking.as_deref(),
        );
        return;
    }
    let stale = std::mem::replace(&mut canvas.stale, lacking.is_some());
    let calls = world.numbers.calls(world.now);
    let named = calls.iter().any(|one| one.config.is_some());
    headings(canvas, rest, named);
    let rows = rest.height.saturating_sub(2);
    for (row, calls) in (1..=rows).zip(&calls) {
        operation(canvas, rest, row, calls, world, named);
    }
    let used = u16::try_from(calls.len()).unwrap_or(rows).min(rows);
    state(canvas, rest, used + 1, world);
    canvas.stale = stale;
}

/// The ProviderConfigs, and whether each is ready.
fn configs(canvas: &mut Canvas<'_>, area: Rect, world: &World) {
    let (yes, no) = (canvas.glyphs.pick("●", "*"), canvas.glyphs.pick("✖", "X"));
    let mut line = canvas.line(area, 0);
    line.skip(2);
    if world.configs.is_empty() {
        line.put("no ProviderConfig", Role::Dim);
    }
    let many = world.configs.len() > 1;
    // What is wrong must not be pushed out of the line by what is right.
    let mut configs: Vec<_> = world.configs.values().collect();
    configs.sort_by_key(|config| config.ready == "True");
    for config in configs {
        let (mark, role) = match config.ready.as_str() {
            "True" => (yes, Role::Good),
            "False" => (no, Role::Bad),
            _unknown => ("?", Role::Warn),
        };
        line.put(mark, role).skip(1);
        if many {
            line.put(&config.namespace, Role::Dim).put("/", Role::Dim);
        }
        line.put(&config.name, Role::Text).skip(1);
        if config.ready != "True" && !config.reason.is_empty() {
            line.put(&config.reason, role).skip(1);
        }
        let key = format!("{}/{}", config.namespace, config.name);
        if let Some(text) = world.outlet(&key).and_then(held) {
            line.put(&text, Role::Warn).skip(1);
        }
        line.skip(1);
    }
}

/// Why calls to a provider wait, if they do.
fn held(outlet: &Outlet) -> Option<String> {
    match (outlet.breaker.as_str(), outlet.held_back) {
        ("closed" | "", _) if outlet.paused > 0.0 => {
            Some(format!("asks to wait {}", span(outlet.paused)))
        }
        ("closed" | "", _) => None,
        (state, Some(seconds)) => Some(format!("breaker {state}, {}", span(seconds))),
        (state, None) => Some(format!("breaker {state}")),
    }
}

fn headings(canvas: &mut Canvas<'_>, area: Rect, named: bool) {
    let mut line = canvas.line(area, 0);
    line.skip(2).cell("CALL", 12, Role::Dim);
    if named {
        line.cell("PROVIDER", 10, Role::Dim);
    }
    for (heading, width) in [("/S", 5), ("P50", 6), ("P95", 6), ("P99", 6)] {
        line.number(heading, width, Role::Dim);
    }
    if line.left() > 10 {
        line.put("P95 TREND", Role::Dim);
    }
}

fn operation(
    canvas: &mut Canvas<'_>,
    area: Rect,
    row: u16,
    calls: &Calls,
    world: &World,
    named: bool,
) {
    let quiet = calls.rate.is_none_or(|rate| rate <= 0.0);
    let long_poll = calls.operation == "changes";
    let role = if quiet || long_poll {
        Role::Dim
    } else {
        Role::Text
    };
    let mut line = canvas.line(area, row);
    line.skip(2).cell(&calls.operation, 12, role);
    if named {
        line.cell(calls.config.as_deref().unwrap_or("–"), 10, Role::Dim);
    }
    line.number(&calls.rate.map_or("–".to_owned(), rate), 5, role);
    for estimate in [calls.p50, calls.p95, calls.p99] {
        let warns = !long_poll && estimate.is_some_and(|one| one.seconds() >= 2.5);
        line.number(&time(estimate), 6, if warns { Role::Warn } else { role });
    }
    let place = rest(area, row, line.left());
    let series = Series {
        config: calls.config.clone(),
        operation: calls.operation.clone(),
    };
    let role = if long_poll { Role::Faint } else { Role::Accent };
    let values = |bins| p95(&world.numbers, bins, &series);
    trend(canvas, place, world, values, role);
}

fn p95(numbers: &Numbers, bins: crate::numbers::Bins, series: &Series) -> Vec<Option<f64>> {
    let all = numbers.percentiles(bins, 0.95, |one| one == series);
    all.into_iter()
        .map(|one| one.map(Estimate::seconds))
        .collect()
}

/// A percentile in words: beyond the largest bucket only a bound is known.
pub(super) fn time(estimate: Option<Estimate>) -> String {
    match estimate {
        None => "–".to_owned(),
        Some(Estimate::About(seconds)) => span(seconds),
        Some(Estimate::AtLeast(seconds)) => format!("≥{}", span(seconds)),
    }
}

/// What waits, what is held back, what fails.
fn state(canvas: &mut Canvas<'_>, area: Rect, row: u16, world: &World) {
    let numbers = &world.numbers;
    let known = numbers.replicas().filter(|(_, one)| one.is_known());
    let levels: Vec<&Levels> = known.filter_map(|(_, one)| one.now()).collect();
    let sum = |of: fn(&Levels) -> Option<f64>| {
        levels
            .iter()
            .filter_map(|one| of(one))
            .reduce(|sum, one| sum + one)
    };
    let (flight, open) = (sum(|one| one.calls), sum(|one| one.breakers));
    let mut line = canvas.line(area, row);
    line.skip(2);
    if let Some(flight) = flight {
        line.put("in flight ", Role::Dim)
            .put(&count(flight), Role::Text)
            .skip(3);
    }
    let throttled = numbers.rate(world.now, |counter| *counter == Counter::Throttled);
    if let Some(waiting) = throttled.filter(|waiting| *waiting > 0.005) {
        let text = format!("{} calls wait for our limit", rate(waiting));
        line.put(&text, Role::Warn).skip(3);
    }
    if let Some(open) = open.filter(|open| *open > 0.0) {
        let text = format!("{} held back after failures", count(open));
        line.put(&text, Role::Bad).skip(3);
    }
    let mut failing: BTreeMap<&str, f64> = BTreeMap::new();
    let kinds = numbers.kinds();
    for kind in &kinds {
        let wanted = |counter: &Counter| matches!(counter, Counter::Failures(one) if one == kind);
        let failed = numbers.rate(world.now, wanted).unwrap_or(0.0);
        if failed > 0.0 {
            failing.insert(kind, failed);
        }
    }
    for (kind, failed) in failing {
        line.put(&format!("{kind} {}/s", rate(failed)), Role::Bad)
            .skip(2);
    }
}
