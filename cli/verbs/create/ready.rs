//! The wait until a created VirtualMachine is Ready, and every way in which it may not become so.

use serde_json::Value;
use vmoperator::api::condition::ConditionType;

use crate::cluster::call::{Collection, Filter, Form};
use crate::cluster::follow::{Change, Follow};
use crate::cluster::object::Object;
use crate::hint::{Exit, Failure};
use crate::verbs::advice::advice;
use crate::verbs::duration::Limit;
use crate::verbs::progress::Progress;

/// Waits until the object is Ready; returns it as it is then.
///
/// # Errors
/// It waits for a person, goes, is replaced, or the time is over.
pub(super) async fn ready(
    machines: &Collection,
    created: &Value,
    limit: Limit,
) -> Result<Value, Failure> {
    let mut last = created.clone();
    let mut seen = false;
    let mut progress = Progress::new();
    let name = Object(created).name();
    let filter = Filter {
        name: Some(name.to_owned()),
        ..Filter::default()
    };
    let mut follow = Follow::new(machines.clone(), filter, Form::Objects);
    let waited = async {
        loop {
            match progress.next(&mut follow).await? {
                Change::Present(item) => {
                    last = item.object;
                    seen = true;
                }
                Change::Gone(item) if Object(&item.object).uid() == Object(created).uid() => {
                    return Err(deleted(machines, name, "was deleted by somebody else"));
                }
                // It went before we could look.
                Change::Listed if !seen => {
                    return Err(deleted(machines, name, "was deleted by somebody else"));
                }
                Change::Gone(_)
                | Change::Listed
                | Change::Columns(_)
                | Change::Cut(_)
                | Change::Back => continue,
            }
            if let Some(outcome) = outcome(machines, created, &last, &mut progress) {
                return outcome;
            }
        }
    };
    match tokio::time::timeout(limit.0, waited).await {
        Ok(outcome) => outcome.map(|()| last),
        Err(_elapsed) => {
            progress.tell(name, &Object(&last).story());
            drop(progress);
            Err(timed_out(machines, &last, limit, follow.is_cut()))
        }
    }
}

/// Whether the wait is over, and how.
fn outcome(
    machines: &Collection,
    created: &Value,
    now: &Value,
    progress: &mut Progress,
) -> Option<Result<(), Failure>> {
    let (object, name) = (Object(now), Object(created).name());
    if object.uid() != Object(created).uid() {
        return Some(Err(deleted(
            machines,
            name,
            "was replaced by another one of its name",
        )));
    }
    if object.is_deleting() {
        progress.tell(name, &object.story());
        return Some(Err(deleted(
            machines,
            name,
            "is being deleted by somebody else",
        )));
    }
    if object.holds(ConditionType::Ready).is_some() {
        progress.done(name, &format!("Ready{}", object.whereabouts()));
        return Some(Ok(()));
    }
    progress.tell(name, &object.story());
    let stalled = object.holds(ConditionType::Stalled)?;
    let cause = format!(
        "VirtualMachine {name} does not become Ready: {}",
        stalled.in_words()
    );
    Some(Err(Failure::new(Exit::Failure, "VMC-STALLED", cause)
        .fix(advice(stalled.reason, name, &machines.cluster))))
}

fn deleted(machines: &Collection, name: &str, what: &str) -> Failure {
    let again = machines.cluster.vmctl("get vm");
    Failure::new(
        Exit::NotFound,
        "VMC-DELETED",
        format!("VirtualMachine {name} {what}"),
    )
    .fix(format!("see what there is: {again}"))
}

fn timed_out(machines: &Collection, last: &Value, limit: Limit, cut: bool) -> Failure {
    let (cluster, object) = (&machines.cluster, Object(last));
    let name = object.name();
    let watch = cluster.vmctl(&format!("wait vm {name} --for condition=Ready"));
    if cut {
        let cause = format!(
            "the API server has not answered for a while, {limit} are over ({})",
            cluster.label
        );
        return Failure::new(Exit::Unreachable, "VMC-API", cause)
            .fix(format!("once it answers again, go on waiting: {watch}"));
    }
    let cause = format!(
        "VirtualMachine {name} is not Ready after {limit}: {}",
        object.story()
    );
    let fix = if object.condition(ConditionType::Ready.as_str()).is_none() && cluster.ours {
        format!(
            "see whether the operator runs: {}; go on waiting: {watch}",
            "vmctl status"
        )
    } else {
        format!("it goes on being made; go on waiting: {watch}")
    };
    Failure::new(Exit::NotReady, "VMC-TIMEOUT", cause).fix(fix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::fake::{cluster, list, machine};
    use crate::cluster::kind::Kind;

    #[tokio::test(start_paused = true)]
    async fn an_object_that_went_before_the_first_look_or_was_replaced_is_not_waited_for() {
        let limit = "5m".parse().unwrap();
        for found in [vec![], vec![machine("a", "2", "4")]] {
            let (cluster, _asked) = cluster(vec![list("5", &found)]);
            let machines = Collection::new(&cluster, Kind::VirtualMachine);
            let failure = ready(&machines, &machine("a", "1", "3"), limit)
                .await
                .unwrap_err();
            assert_eq!(
                (failure.exit, failure.id),
                (Exit::NotFound, "VMC-DELETED"),
                "{failure}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_runs_out_while_the_server_is_away_says_so() {
        let (cluster, _asked) = cluster(vec![list("5", &[machine("a", "1", "3")])]);
        let machines = Collection::new(&cluster, Kind::VirtualMachine);
        let outcome = ready(&machines, &machine("a", "1", "3"), "5m".parse().unwrap()).await;
        let failure = outcome.unwrap_err();
        assert_eq!(
            (failure.exit, failure.id),
            (Exit::Unreachable, "VMC-API"),
            "{failure}"
        );
    }
}
