use super::{Term, TermHolder};
use crate::domain::time::Moment;

#[test]
fn a_term_that_has_not_begun_allows_nothing() {
    let holder = TermHolder::new();
    assert!(!holder.term().allows(Moment::START));
    assert_eq!(holder.term().until(), None);
}

#[test]
fn every_copy_sees_the_term_grow_and_end() {
    let mut holder = TermHolder::new();
    let (one, two) = (holder.term(), holder.term());
    holder.extend(Moment::from_secs(9));
    assert!(one.allows(Moment::from_nanos(8_999_999_999)));
    assert!(
        !two.allows(Moment::from_secs(9)),
        "the end itself is outside"
    );
    holder.extend(Moment::from_secs(3));
    assert_eq!(
        two.until(),
        Some(Moment::from_secs(9)),
        "an older renewal takes nothing away"
    );
    holder.end();
    assert!(!one.allows(Moment::START));
}

#[test]
fn a_dropped_holder_leaves_nobody_allowed() {
    let mut holder = TermHolder::new();
    let term = holder.term();
    holder.extend(Moment::from_secs(9));
    drop(holder);
    assert!(!term.allows(Moment::from_secs(1)));
}

#[test]
fn without_an_election_the_term_has_no_end() {
    assert!(Term::unlimited().allows(Moment::from_secs(1 << 33)));
}
