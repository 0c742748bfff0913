mod quota;

use super::*;
use crate::domain::ProviderError;
use crate::lifecycle::Object;
use crate::lifecycle::fixtures::{KEY_LIFE, LAG, NOW, bare, created, intended, policy, secs, with};

fn view(object: Object, version: &str) -> View {
    View {
        object: with(object, |o| o.version = version.to_owned()),
        finalizers: Vec::new(),
        status: crate::api::VirtualMachineStatus::default(),
        foreign_intent: false,
    }
}

fn of_uid(uid: &str, object: Object) -> Object {
    with(object, |o| o.uid = Uid::new(uid))
}

fn key() -> ObjectKey {
    bare().key
}

fn uid() -> Uid {
    bare().uid
}

/// Knowledge of one object that the watch showed at version 10.
fn met() -> Knowledge {
    let knowledge = Knowledge::default();
    arrive(&knowledge, bare(), "10");
    knowledge
}

fn arrive(knowledge: &Knowledge, object: Object, version: &str) -> Option<Uid> {
    knowledge.arrived(&policy(), view(object, version), Arrival::Seen)
}

fn version_at(knowledge: &Knowledge, now: Moment) -> (String, bool) {
    let known = knowledge.get(&key(), now).unwrap();
    (known.view.object.version.clone(), known.doubtful)
}

#[test]
fn our_own_write_stands_in_until_the_store_is_as_new() {
    for (arrives, decided_on) in [("9", "12"), ("11", "12"), ("12", "12"), ("13", "13")] {
        let knowledge = met();
        knowledge.wrote(&policy(), view(intended(1), "12"), NOW);
        assert_eq!(version_at(&knowledge, NOW), ("12".to_owned(), false));
        arrive(&knowledge, bare(), arrives);
        let (version, doubtful) = version_at(&knowledge, NOW + secs(60));
        assert_eq!(version, decided_on, "{arrives} arrived");
        assert_eq!(
            doubtful,
            arrives < "12" || arrives == "9",
            "{arrives} arrived"
        );
    }
}

#[test]
fn versions_compare_as_numbers() {
    let knowledge = met();
    knowledge.wrote(&policy(), view(intended(1), "100"), NOW);
    arrive(&knowledge, bare(), "99");
    assert_eq!(version_at(&knowledge, NOW).0, "100");
    knowledge.wrote(&policy(), view(intended(1), "9"), NOW);
    assert_eq!(
        version_at(&knowledge, NOW).0,
        "100",
        "an answer that is late"
    );
}

#[test]
fn a_store_that_does_not_catch_up_in_five_seconds_is_doubted() {
    let knowledge = met();
    knowledge.wrote(&policy(), view(intended(1), "12"), NOW);
    let end = NOW + secs(5);
    assert!(!version_at(&knowledge, end - std::time::Duration::from_nanos(1)).1);
    assert!(version_at(&knowledge, end).1);
    let live = Some(view(intended(1), "14"));
    let before = knowledge.newest(&key());
    knowledge.read_live(&policy(), &key(), before.as_ref(), live, end);
    assert_eq!(version_at(&knowledge, end), ("14".to_owned(), false));
}

#[test]
fn a_re_list_doubts_every_own_write_and_nothing_else() {
    let knowledge = met();
    knowledge.doubt_overlays();
    assert!(
        !version_at(&knowledge, NOW).1,
        "the store alone is not in doubt"
    );
    knowledge.wrote(&policy(), view(intended(1), "12"), NOW);
    knowledge.doubt_overlays();
    assert!(version_at(&knowledge, NOW).1);
}

#[test]
fn an_own_write_to_another_uid_or_to_nobody_is_not_laid_over() {
    let knowledge = met();
    let other = of_uid("u-2", intended(1));
    knowledge.wrote(&policy(), view(other.clone(), "12"), NOW);
    assert_eq!(version_at(&knowledge, NOW).0, "10");
    let nobody = Knowledge::default();
    nobody.wrote(&policy(), view(other, "12"), NOW);
    assert!(nobody.get(&key(), NOW).is_none());
}

#[test]
fn another_uid_under_the_same_name_departs_the_one_before_with_its_memory() {
    let knowledge = met();
    arrive(&knowledge, intended(1), "11");
    knowledge.remember(&key(), &uid(), |m| m.sending_create(NOW, KEY_LIFE));
    let departed = arrive(&knowledge, of_uid("u-2", bare()), "20");
    assert_eq!(departed, Some(uid()));
    let entry = knowledge.departed(&uid()).unwrap();
    assert!(entry.departed.sign && entry.memory.in_doubt());
    let known = knowledge.get(&key(), NOW).unwrap();
    assert_eq!(known.view.object.uid, Uid::new("u-2"));
    assert!(
        !known.memory.sign() && !known.memory.in_doubt(),
        "a clean start"
    );
    let live = Some(view(of_uid("u-3", bare()), "30"));
    let before = knowledge.newest(&key());
    let next = knowledge.read_live(&policy(), &key(), before.as_ref(), live, NOW);
    assert_eq!(next, Some(Uid::new("u-2")), "a live read shows it as well");
}

#[test]
fn what_was_born_here_and_never_touched_leaves_nothing() {
    let knowledge = Knowledge::default();
    knowledge.arrived(&policy(), view(bare(), "10"), Arrival::Added);
    assert_eq!(knowledge.vanished(&policy(), &key(), &uid()), None);
    assert!(knowledge.departed(&uid()).is_none());
}

#[test]
fn a_vanishing_of_another_uid_changes_nothing() {
    let knowledge = met();
    let other = Uid::new("u-2");
    assert_eq!(knowledge.vanished(&policy(), &key(), &other), None);
    assert!(knowledge.get(&key(), NOW).is_some());
}

#[test]
fn looks_of_before_the_vanishing_do_not_count_after_it() {
    let knowledge = met();
    arrive(&knowledge, created(1), "12");
    knowledge.remember(&key(), &uid(), |m| {
        m.looked_in_vain(&policy(), "12", (NOW, NOW), LAG);
        Some(())
    });
    knowledge.vanished(&policy(), &key(), &uid());
    let entry = knowledge.departed(&uid()).unwrap();
    assert_eq!(entry.memory.look_again_at(LAG), None);
}

#[test]
fn a_removal_that_is_acknowledged_after_the_vanishing_was_seen_leaves_nothing() {
    let knowledge = met();
    arrive(&knowledge, created(1), "12");
    let departed = knowledge.vanished(&policy(), &key(), &uid());
    assert_eq!(departed, Some(uid()), "its answer is still under way");
    knowledge.remember(&key(), &uid(), Memory::finalizer_removed);
    assert!(knowledge.departed(&uid()).is_none(), "no look is owed");
}

#[test]
fn a_late_event_of_an_object_that_departed_leaves_it_departed_with_its_memory() {
    let knowledge = met();
    arrive(&knowledge, intended(1), "11");
    knowledge.remember(&key(), &uid(), |m| m.sending_create(NOW, KEY_LIFE));
    let before = knowledge.newest(&key());
    knowledge.read_live(&policy(), &key(), before.as_ref(), None, NOW);
    assert!(knowledge.departed(&uid()).is_some());
    // The watch is behind the live read: it still tells of the object before it tells of its end.
    knowledge.arrived(&policy(), view(bare(), "10"), Arrival::Added);
    let entry = knowledge.departed(&uid()).unwrap();
    assert!(entry.departed.sign && entry.memory.sign() && !entry.memory.born());
    assert!(
        knowledge.get(&key(), NOW).is_none(),
        "one memory of one uid"
    );
    let departed = knowledge.vanished(&policy(), &key(), &uid());
    assert_eq!(departed, Some(uid()), "what waited for this word goes on");
    let entry = knowledge.departed(&uid()).unwrap();
    assert!(entry.departed.sign && entry.told);
}

#[test]
fn what_is_learnt_after_the_vanishing_goes_to_the_departed() {
    let knowledge = met();
    knowledge.vanished(&policy(), &key(), &uid());
    assert!(!knowledge.departed(&uid()).unwrap().departed.sign);
    knowledge.remember(&key(), &uid(), |m| m.sending_intent(NOW));
    assert!(knowledge.departed(&uid()).unwrap().departed.sign);
    let nobody: Option<ProviderError> = knowledge.remember(&key(), &Uid::new("u-9"), |_| {
        panic!("there is no such memory")
    });
    assert_eq!(nobody, None);
}

#[test]
fn a_config_is_used_by_objects_and_by_departed_ones() {
    let knowledge = met();
    let (keys, uids) = knowledge.users_of("team-a", "default");
    assert_eq!((keys, uids), (vec![key()], vec![]));
    knowledge.vanished(&policy(), &key(), &uid());
    let (keys, uids) = knowledge.users_of("team-a", "default");
    assert_eq!((keys, uids), (vec![], vec![uid()]));
    for (namespace, config) in [("team-b", "default"), ("team-a", "other")] {
        let (keys, uids) = knowledge.users_of(namespace, config);
        assert!(keys.is_empty() && uids.is_empty(), "{namespace}/{config}");
    }
    knowledge.forget_departed(&uid());
    assert!(knowledge.users_of("team-a", "default").1.is_empty());
}

#[test]
fn whoever_is_present_or_departed_is_not_without_an_object() {
    let knowledge = met();
    let all = || std::collections::HashSet::from(["u-1", "u-2"].map(Uid::new));
    let without = |knowledge: &Knowledge| {
        let uids = knowledge.without_object(all());
        let mut uids: Vec<String> = uids.iter().map(ToString::to_string).collect();
        uids.sort();
        uids
    };
    assert_eq!(without(&knowledge), ["u-2"]);
    // An intent was seen, so that it departs when it vanishes.
    arrive(&knowledge, intended(1), "11");
    knowledge.vanished(&policy(), &key(), &uid());
    assert!(knowledge.departed(&uid()).is_some());
    assert_eq!(without(&knowledge), ["u-2"]);
    knowledge.forget_departed(&uid());
    assert_eq!(without(&knowledge), ["u-1", "u-2"]);
}

#[test]
fn who_refers_to_a_config_is_known_from_its_arrival_to_its_end_and_no_longer() {
    let knowledge = Knowledge::default();
    let users = |config: &str| knowledge.users_of("team-a", config).0;
    let bears = |uid: &str| knowledge.keys_of(&HashSet::from([Uid::new(uid)])) == [key()];
    arrive(&knowledge, bare(), "10");
    arrive(&knowledge, intended(1), "11");
    assert_eq!(users("default"), [key()]);
    assert!(users("other").is_empty() && knowledge.users_of("team-b", "default").0.is_empty());
    // No rule allows it, but somebody may have taken the rule away.
    let moved = with(intended(1), |o| o.provider_ref = "other".to_owned());
    arrive(&knowledge, moved.clone(), "12");
    assert_eq!((users("default"), users("other")), (vec![], vec![key()]));
    assert!(bears("u-1") && !bears("u-2"));
    // The next object of this name, which a live read shows first.
    let next = of_uid("u-2", bare());
    let before = knowledge.newest(&key());
    let now = Some(view(next, "13"));
    knowledge.read_live(&policy(), &key(), before.as_ref(), now, NOW);
    assert_eq!((users("default"), users("other")), (vec![key()], vec![]));
    assert!(bears("u-2") && !bears("u-1"));
    knowledge.vanished(&policy(), &key(), &Uid::new("u-2"));
    assert!(!bears("u-2"));
    assert!(users("default").is_empty());
    assert!(knowledge.lock().users.is_empty());
}

#[test]
fn what_a_restored_api_server_has_no_more_is_forgotten_and_does_not_depart() {
    let knowledge = met();
    arrive(&knowledge, created(1), "30");
    knowledge.wrote(&policy(), view(created(1), "31"), NOW);
    knowledge.forget(&key(), &uid());
    assert!(knowledge.get(&key(), NOW).is_none());
    assert!(
        knowledge.departed(&uid()).is_none(),
        "its instance would be deleted"
    );
    assert_eq!(knowledge.without_object([uid()].into()), [uid()].into());
    // What the restored data hold under the name is met as by a new process, older version or not.
    assert_eq!(arrive(&knowledge, bare(), "10"), None);
    assert_eq!(
        version_at(&knowledge, NOW + secs(60)),
        ("10".to_owned(), false)
    );
    assert!(!knowledge.get(&key(), NOW).unwrap().memory.born());
}

#[test]
fn a_departed_object_that_a_restored_api_server_has_again_is_met_anew() {
    let knowledge = met();
    arrive(&knowledge, created(1), "30");
    assert_eq!(knowledge.vanished(&policy(), &key(), &uid()), Some(uid()));
    knowledge.forget(&key(), &uid());
    assert_eq!(arrive(&knowledge, created(1), "20"), None);
    assert!(knowledge.departed(&uid()).is_none());
}

/// What a live read alone shows to be gone may be gone because of a restore: only the watch tells.
#[test]
fn what_a_live_read_shows_to_be_gone_is_acted_on_once_the_watch_tells_and_not_after_a_restore() {
    let told = |knowledge: &Knowledge| knowledge.departed(&uid()).map(|entry| entry.told);
    let gone_live = || {
        let knowledge = met();
        arrive(&knowledge, created(1), "30");
        let before = knowledge.newest(&key());
        let departed = knowledge.read_live(&policy(), &key(), before.as_ref(), None, NOW);
        assert_eq!(departed, Some(uid()));
        assert_eq!(told(&knowledge), Some(false));
        knowledge
    };
    let by_watch = gone_live();
    assert_eq!(by_watch.vanished(&policy(), &key(), &uid()), Some(uid()));
    assert_eq!(told(&by_watch), Some(true));

    let by_list = gone_live();
    by_list.listed(Some("elsewhere"));
    by_list.forget_untold(Some("elsewhere"));
    assert_eq!(told(&by_list), Some(false));
    by_list.listed(Some(&key().namespace));
    assert_eq!(told(&by_list), Some(true));
    by_list.forget_untold(None);
    assert_eq!(
        told(&by_list),
        Some(true),
        "somebody deleted it before the restore"
    );

    // Never shown by the watch: it will not tell of its end either.
    let unwatched = Knowledge::default();
    unwatched.read_live(&policy(), &key(), None, Some(view(created(1), "30")), NOW);
    let before = unwatched.newest(&key());
    unwatched.read_live(&policy(), &key(), before.as_ref(), None, NOW);
    assert_eq!(told(&unwatched), Some(true));

    let by_restore = gone_live();
    by_restore.forget_untold(None);
    assert_eq!(told(&by_restore), None);
}
