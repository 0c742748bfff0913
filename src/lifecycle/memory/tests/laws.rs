//! Laws that hold whatever happens, in any order.

use proptest::prelude::*;

use super::*;

/// What can happen to a memory, in any order.
#[derive(Clone, Debug)]
enum Step {
    Saw(u8, u8, u8),
    SawOlder(u8),
    Look(u8),
    SendIntent,
    IntentDone(bool),
    SendCreate,
    CreateAnswered(usize),
    Settled(usize),
    WriteSent,
    WriteDone,
    Wait(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let kinds = 0..=ErrorKind::ALL.len();
    prop_oneof![
        4 => (0u8..4, 0u8..5, 0u8..3).prop_map(|(o, v, a)| Step::Saw(o, v, a)),
        1 => (0u8..4).prop_map(Step::SawOlder),
        3 => (0u8..5).prop_map(Step::Look),
        1 => Just(Step::SendIntent),
        1 => any::<bool>().prop_map(Step::IntentDone),
        2 => Just(Step::SendCreate),
        2 => kinds.clone().prop_map(Step::CreateAnswered),
        1 => kinds.prop_map(Step::Settled),
        1 => Just(Step::WriteSent),
        1 => Just(Step::WriteDone),
        3 => (0u32..4_000).prop_map(Step::Wait),
    ]
}

fn some_object(which: u8, number: u8) -> Object {
    let object = match which {
        0 => bare(),
        1 => intended(1),
        2 => created(1),
        _ => intended(2),
    };
    version(&object, &number.to_string())
}

fn answer(which: usize) -> Result<(), ErrorKind> {
    ErrorKind::ALL.get(which).map_or(Ok(()), |kind| Err(*kind))
}

/// Takes one step; gives the moment from which it renews the right to create blind, if it may.
fn take(memory: &mut Memory, step: &Step, now: &mut Moment) -> Option<Moment> {
    let policy = policy();
    match *step {
        Step::Saw(which, number, arrival) => {
            let how = [Arrival::Added, Arrival::Seen, Arrival::OwnWrite][usize::from(arrival)];
            memory.saw(&policy, &some_object(which, number), how);
        }
        Step::SawOlder(which) => memory.saw_older(&some_object(which, 0)),
        Step::Look(number) => {
            memory.looked_in_vain(&policy, &number.to_string(), (*now, *now), LAG);
        }
        Step::SendIntent => memory.sending_intent(*now),
        Step::IntentDone(first) => {
            memory.intent_acknowledged(*now, first, KEY_LIFE);
            return Some(*now);
        }
        Step::SendCreate => {
            memory.sending_create(*now, KEY_LIFE);
            return Some(*now);
        }
        Step::CreateAnswered(kind) => memory.create_answered(answer(kind), 1),
        Step::Settled(kind) => memory.settle_answered(answer(kind), *now, KEY_LIFE),
        Step::WriteSent => memory.sending_write(),
        Step::WriteDone => memory.write_acknowledged(*now),
        Step::Wait(secs) => *now = *now + Duration::from_secs(u64::from(secs)),
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_laws_of_memory_hold(steps in proptest::collection::vec(step(), 1..40)) {
        let policy = policy();
        let (mut memory, mut now) = (Memory::default(), NOW);
        let mut licensed = None;
        for step in &steps {
            let before = memory.clone();
            if let Some(at) = take(&mut memory, step, &mut now) {
                licensed = Some(at);
            }
            prop_assert!(memory.sign() || !before.sign(), "a sign went away at {step:?}");
            prop_assert!(!memory.born() || before.born() || before.version.is_empty(),
                "born late at {step:?}");
            prop_assert_eq!(
                memory.departs(&policy, &bare()),
                !memory.released() && (memory.sign() || !memory.born())
            );
            if memory.may_create_blind(&policy, now) {
                let at = licensed.expect("a right without a write");
                prop_assert!(now < at + KEY_LIFE / 2, "the right outlives the key at {step:?}");
            }
            if let Step::Saw(_, number, 1) = step
                && before != Memory::default() && before.version != number.to_string()
            {
                prop_assert_eq!(memory.look_again_at(LAG), None, "looks outlive a foreign version");
            }
            if let Step::Look(number) = step
                && memory.version != number.to_string()
            {
                prop_assert_eq!(memory.look_again_at(LAG), before.look_again_at(LAG));
            }
        }
    }
}
