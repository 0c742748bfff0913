//! Laws that hold in every combination of what a decision reads.

use super::{Action, Current, IntentState, Observed, Plan, Sureness, decide, policy};
use crate::domain::Incarnation;
use crate::lifecycle::basic::{LET_GO, is_clear};
use crate::lifecycle::due::account_changed;
use crate::lifecycle::fixtures::{owner, worlds};
use crate::lifecycle::policy::Planted;

/// A sentence that must hold, and the check of it.
type Law = (&'static str, fn(&Observed<'_>, &Plan) -> Result<(), String>);

const LAWS: [Law; 9] = [
    (
        "a create needs finalizer and valid intent, a standing own write, and either a right or a proof",
        create,
    ),
    (
        "settling happens in deletion alone and as carefully as creating",
        settle,
    ),
    (
        "the finalizer goes after a confirmed absence or by the user's word alone",
        finalizer,
    ),
    (
        "only instances with our tags of objects that are deleted are deleted",
        delete,
    ),
    ("nothing is done while something holds everything", holding),
    (
        "an intent is ours, never lower and never rewritten under the same incarnation",
        intend,
    ),
    (
        "an attempt is noted only where no own write stands",
        attempt,
    ),
    (
        "the same world gives the same plan and a wait is never in the past",
        steady,
    ),
    (
        "a live object is never let go and nothing is forgotten",
        forget,
    ),
];

#[test]
fn in_every_world_every_law_holds() {
    let policy = policy();
    let count = worlds::each(|seen| {
        let plan = decide(&policy, seen);
        for (law, check) in LAWS {
            if let Err(broken) = check(seen, &plan) {
                panic!("{law}: {broken}\n{plan:?}\n{seen:#?}");
            }
        }
    });
    assert!(count > 100_000, "only {count} worlds");
}

/// The laws can fail: a decision without one of the rules breaks one of them.
#[test]
fn each_bug_planted_in_the_decision_breaks_a_law() {
    for bug in [
        Planted::DoubtDropped,
        Planted::NoWriteBeforeCreate,
        Planted::BlindForEver,
        Planted::StrippedIsNoIntent,
        Planted::DoubtRepeated,
    ] {
        let mut policy = policy();
        policy.planted = Some(bug);
        let mut broken = false;
        worlds::each(|seen| {
            if !broken {
                let plan = decide(&policy, seen);
                broken = LAWS.iter().any(|(_, law)| law(seen, &plan).is_err());
            }
        });
        assert!(broken, "{bug:?} breaks no law");
    }
}

fn require(holds: bool, law: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(law.to_owned()) }
}

/// A provider whose creates no key guards.
fn keyless(seen: &Observed<'_>) -> bool {
    let config = seen.config.as_ref();
    config.is_ok_and(|config| !config.safe_create())
}

/// … and that nobody can ask for what it made.
fn blind(seen: &Observed<'_>) -> bool {
    let config = seen.config.as_ref();
    keyless(seen) && config.is_ok_and(|config| !config.finds())
}

fn is_hold(plan: &Plan) -> bool {
    matches!(plan.action, Action::Hold(_))
}

fn lets_go(seen: &Observed<'_>, plan: &Plan) -> bool {
    match &plan.action {
        Action::RemoveFinalizer {
            orphaned: Some(why),
        } => {
            let asked = seen.object.force_orphan.as_ref() == Some(why);
            seen.object.deleting && (asked || blind(seen) && why == LET_GO)
        }
        _ => false,
    }
}

fn create(seen: &Observed<'_>, plan: &Plan) -> Result<(), String> {
    if plan.action != Action::Create {
        return Ok(());
    }
    let object = seen.object;
    require(!object.deleting, "create while deleting")?;
    require(object.finalizer, "create without finalizer")?;
    require(object.intent().is_some(), "create without intent")?;
    require(object.spec.is_some(), "create of what cannot be read")?;
    require(object.known().is_none(), "create beside a known id")?;
    let refused = seen.memory.refused() == Some(object.generation);
    require(
        !refused || seen.sighting.current != Current::Unasked,
        "refused again",
    )?;
    let stands = seen.memory.own_write_stands(&policy(), seen.now);
    require(stands, "create without our own write")?;
    let blind = if keyless(seen) {
        is_clear(object, seen.memory)
    } else {
        seen.memory.may_create_blind(&policy(), seen.now)
    };
    match &seen.sighting.current {
        _ if self::blind(seen) => require(blind, "create in doubt that nobody can clear"),
        Current::Unasked => require(blind, "create without a find"),
        Current::Absent(Sureness::Confirmed) => Ok(()),
        other if keyless(seen) => require(blind, &format!("create although {other:?}")),
        other => Err(format!("create although {other:?}")),
    }
}

fn settle(seen: &Observed<'_>, plan: &Plan) -> Result<(), String> {
    if plan.action != Action::Settle {
        return Ok(());
    }
    let object = seen.object;
    require(object.deleting, "settle while live")?;
    require(object.intent().is_some(), "settle without intent")?;
    require(object.known().is_none(), "settle beside a known id")?;
    let stands = seen.memory.own_write_stands(&policy(), seen.now);
    require(stands, "settle without our own write")?;
    let absent = matches!(seen.sighting.current, Current::Absent(_));
    require(absent && seen.sighting.others.is_empty(), "settle unseen")
}

fn finalizer(seen: &Observed<'_>, plan: &Plan) -> Result<(), String> {
    let Action::RemoveFinalizer { .. } = &plan.action else {
        return Ok(());
    };
    require(seen.object.deleting, "finalizer off a live object")?;
    require(seen.object.finalizer, "no finalizer to remove")?;
    if lets_go(seen, plan) {
        return Ok(());
    }
    let gone = seen.sighting.current == Current::Absent(Sureness::Confirmed);
    let unsent = keyless(seen) && is_clear(seen.object, seen.memory);
    require(gone || unsent, "finalizer off without proof")?;
    require(seen.sighting.ours().next().is_none(), "an instance is left")?;
    let settled = seen.object.intent().is_none()
        || seen.object.known().is_some()
        || keyless(seen)
        || !seen.memory.create_in_doubt(seen.now);
    require(settled, "finalizer off with a create in doubt")
}

fn delete(seen: &Observed<'_>, plan: &Plan) -> Result<(), String> {
    let Action::Delete(id) = &plan.action else {
        return Ok(());
    };
    require(seen.object.deleting, "delete for a live object")?;
    let ours = seen
        .sighting
        .ours()
        .any(|one| one.id == *id && one.belongs_to(&owner()));
    require(ours, "delete of what is not ours")
}

fn holding(seen: &Observed<'_>, plan: &Plan) -> Result<(), String> {
    let paused = seen.object.paused || seen.config.as_ref().is_ok_and(|c| c.paused);
    require(!paused || is_hold(plan), "acts while paused")?;
    let other_cluster = matches!(seen.object.intent, IntentState::OtherCluster(_));
    let other_account = seen
        .config
        .as_ref()
        .is_ok_and(|c| account_changed(seen.object, c));
    let blind = matches!(
        seen.sighting.current,
        Current::Unknown(_) | Current::Unproven(_)
    );
    let stopped = other_cluster || other_account || blind || seen.config.is_err();
    let still = is_hold(plan) || lets_go(seen, plan);
    require(!stopped || still, "acts although it must not")
}

fn intend(seen: &Observed<'_>, plan: &Plan) -> Result<(), String> {
    let Action::Intend { intent, first } = &plan.action else {
        return Ok(());
    };
    let object = seen.object;
    require(!object.deleting, "intent while deleting")?;
    require(intent.owner == owner(), "intent of another owner")?;
    require(
        intent.incarnation >= object.incarnation(),
        "intent goes back",
    )?;
    let highest = seen.sighting.ours().map(|i| i.incarnation()).max();
    require(
        Some(intent.incarnation) >= highest,
        "intent below an instance",
    )?;
    if let Some(before) = object.intent() {
        let same = before.incarnation == intent.incarnation;
        require(
            !same || before == intent.as_ref(),
            "another body under the same key",
        )?;
        require(!same || !first, "first a second time")?;
        let seen_higher = highest >= Some(intent.incarnation);
        let proven = seen.sighting.current == Current::Absent(Sureness::Confirmed);
        let unsent = keyless(seen) && is_clear(object, seen.memory);
        let sure = same || seen_higher || proven || unsent;
        require(sure, "raised without proof")?;
    } else {
        let fits = highest == Some(intent.incarnation)
            || seen.sighting.current == Current::Absent(Sureness::Confirmed)
            || (seen.memory.born() && intent.incarnation == Incarnation::FIRST)
            || blind(seen);
        require(fits, "a new intent without a long pair")?;
    }
    require(
        object.spec.is_some() || object.intent() == Some(intent),
        "made from nothing",
    )?;
    require(
        !first || highest < Some(intent.incarnation),
        "first beside an instance",
    )
}

fn attempt(seen: &Observed<'_>, plan: &Plan) -> Result<(), String> {
    let noted = plan.action == Action::NoteAttempt;
    let stands = seen.memory.own_write_stands(&policy(), seen.now);
    require(!noted || !stands, "a write that licenses nothing new")?;
    require(
        !noted || seen.object.intent().is_some(),
        "no create to note",
    )
}

fn forget(_: &Observed<'_>, plan: &Plan) -> Result<(), String> {
    require(plan.action != Action::Forget, "forgets an object")
}

fn steady(seen: &Observed<'_>, plan: &Plan) -> Result<(), String> {
    require(*plan == decide(&policy(), seen), "two plans for one world")?;
    match plan.action {
        Action::Hold(Some(at)) => require(at > seen.now, "waits for the past"),
        _ => Ok(()),
    }
}
