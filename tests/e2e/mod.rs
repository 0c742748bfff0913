//! The operator from outside: its own process on a real API server, a cloud of its own for each test, and what both
//! sides wrote down.

pub(crate) mod audit;
pub(crate) mod checker;
pub(crate) mod client;
pub(crate) mod cloud;
pub(crate) mod golden;
pub(crate) mod house;
pub(crate) mod judge;
pub(crate) mod operator;
pub(crate) mod proxy;
pub(crate) mod relay;
mod starter;
pub(crate) mod terms;

use std::thread;
use std::time::Duration;

/// How often something that cannot notify us is looked at. Each look is a request in the audit log.
const POLL: Duration = Duration::from_millis(100);
/// Looks until a wait is given up: at least three minutes.
const LOOKS: usize = 1_800;

/// Waits until `condition` holds.
///
/// # Panics
/// It does not within three minutes.
pub(crate) fn until(what: &str, condition: impl FnMut() -> bool) {
    until_or(what, condition, String::new);
}

/// The same; `otherwise` says how things stand when the wait was in vain.
///
/// # Panics
/// It does not within three minutes.
pub(crate) fn until_or(
    what: &str,
    mut condition: impl FnMut() -> bool,
    otherwise: impl FnOnce() -> String,
) {
    if !look_for(&mut condition) {
        panic!("waited in vain until {what}\n{}", otherwise());
    }
}

/// Waits until `condition` holds, for three minutes at most; says whether it does.
pub(crate) fn look_for(mut condition: impl FnMut() -> bool) -> bool {
    for _look in 0..LOOKS {
        if condition() {
            return true;
        }
        thread::sleep(POLL);
    }
    false
}

/// Whether an object's condition `Ready` is true.
pub(crate) fn is_ready(object: &serde_json::Value) -> bool {
    client::condition(object, "Ready").is_some_and(|(status, _)| status == "True")
}

/// Every test binary uses a part of this module. Named here, the other parts are no dead code to any of them.
const _: fn() = || {
    use cloud::Cloud;
    use house::House;
    use operator::Operator;
    let _ = (House::shared, House::with_operator, House::kept);
    let _ = (House::ready, House::gone, House::delete, House::create);
    let _ = House::usable;
    let _ = (House::configure, House::config, House::namespace);
    let _ = (Cloud::start_kept, Cloud::go_away, Cloud::come_back);
    let _ = (
        Cloud::fault,
        Cloud::mend,
        Cloud::set,
        Cloud::happen,
        Cloud::ours,
        Cloud::calls,
        cloud::prompt,
    );
    let _ = (Cloud::act, Cloud::ours);
    let _ = (Operator::start_with, Operator::kill, Operator::metrics);
    let _ = (Operator::start_at, Operator::state, Operator::addresses);
    let _ = (proxy::Proxy::start, proxy::Proxy::rule, proxy::Proxy::clear);
    let _ = (proxy::Proxy::hits, proxy::Effect::Status(0), terms::check);
    let _ = (proxy::Effect::Silence, proxy::Effect::EndAtOnce);
    let _ = (proxy::Effect::DropAnswer, proxy::Proxy::end_streams);
    let _ = Cloud::try_happen;
    let _ = |writes: &terms::LeaseWrite| (writes.at, writes.holder.len(), writes.by_operator);
    let _ = |proxy: &proxy::Proxy| (terms::lease_writes, proxy.kubeconfig.is_file());
    let _ = (operator::ALONE, audit::writes, audit::unused_rights);
    let _ = (audit::events, golden::check);
    let _ = (checker::check, checker::check_counting, client::condition);
    let _ = (
        judge::judge,
        judge::unexplained,
        checker::Evidence::unharmed,
    );
    let _ = (Cloud::hits, Cloud::revoke, Cloud::admit, Cloud::keys);
    let _ = (Cloud::make_as, checker::Evidence::glance);
    let _ = (Cloud::reuse, House::apply_all, House::cluster);
    let _ = (Operator::start_ahead, client::events_about);
    let _ = (Operator::text, Operator::pid, Operator::debug_state);
    let _ = |request: &audit::Request| (request.agent.len(), request.query.len());
    let _ = (client::Client::text, client::Client::create);
    let _ = (client::Client::create_all, client::Client::delete);
    let _ = client::Client::merge;
    let _ = (Cloud::drift, Cloud::step, Cloud::tag);
    let _ = (Cloud::make_under, Cloud::disown);
    let _ = (
        relay::Relay::start,
        relay::Relay::tell,
        relay::Relay::failed,
    );
    let _ = |relay: &relay::Relay| relay.kubeconfig.is_file();
    let _ = (relay::Mode::Pass, relay::Mode::Garbage, relay::Mode::HangUp);
};
