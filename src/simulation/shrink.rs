//! Makes a failing run small: leaves out steps as long as it still fails in the same way.

use super::oracle::Broken;
use super::tape::Tape;

/// Plays that the search may take.
const MOST_PLAYS: u32 = 4_000;

/// The name of the invariant in what was broken.
pub(super) fn invariant(broken: &str) -> &str {
    broken.split(':').next().unwrap_or(broken)
}

/// Leaves out as many steps as it can, in chunks that are halved; ends when no single step can be left out. `play`
/// says what a tape breaks.
pub(super) fn shrink(
    tape: Tape,
    broken: &str,
    mut play: impl FnMut(&Tape) -> Option<Broken>,
) -> (Tape, Broken) {
    let (mut best, mut what) = (tape, broken.to_owned());
    let mut plays = 0;
    let mut chunk = best.steps.len().div_ceil(2).max(1);
    loop {
        let mut left_out = false;
        let mut at = 0;
        while at < best.steps.len() && plays < MOST_PLAYS {
            let mut shorter = best.clone();
            let end = (at + chunk).min(shorter.steps.len());
            shorter.steps.drain(at..end);
            plays += 1;
            match play(&shorter).filter(|new| invariant(new) == invariant(broken)) {
                Some(new) => {
                    (best, what) = (shorter, new);
                    left_out = true;
                }
                None => at += chunk,
            }
        }
        if chunk == 1 && (!left_out || plays >= MOST_PLAYS) {
            return (best, what);
        }
        if !left_out || chunk > 1 {
            chunk = (chunk / 2).max(1);
        }
    }
}
