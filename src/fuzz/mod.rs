//! Fuzzing with the stable compiler: bytes are changed at random from a corpus, and what leads somewhere new joins it.
//!
//! A target takes bytes, holds what must hold of them, and says in a word where they led. `FUZZ_SECONDS=60` fuzzes each
//! target for so long; `FUZZ_SEED` changes the course. What fails is shown as a Rust byte string, to be put into the
//! corpus of its target before it is mended.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Rounds of a target in the gate.
const ROUNDS: u64 = 5_000;
/// Longest input.
const LONGEST: usize = 16 * 1024;
/// The corpus grows no further than this.
const MOST: usize = 4_000;

/// What breaks parsers: ends of ranges, openings, escapes, invisible and half characters.
const TOKENS: &[&[u8]] = &[
    b"0",
    b"-1",
    b"18446744073709551616",
    b"99999999999999999999999999999999999999999",
    b"1e999",
    b"0.0000000000000000001",
    b"null",
    b"{}",
    b"[]",
    b"\"\"",
    b"[[[[[[[[[[[[[[[[",
    b"{\"a\":",
    b"\\u0000",
    b"\\ud800",
    b"\xff",
    b"\xf0\x9f\x98",
    b"\xe2\x80\xae",
    b"../",
    b"%2e%2e%2f",
    b"\r\n",
    b"\0",
    b"NaN",
    b"Ki",
    b"n",
];

/// Fuzzes a target. Every entry of the corpus is tried as it is first.
///
/// # Panics
/// The target does, and the message has the input.
pub(crate) fn fuzz(name: &str, corpus: &[&[u8]], target: impl Fn(&[u8]) -> &'static str) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (seconds, seed): (Option<u64>, u64) =
        (number("FUZZ_SECONDS"), number("FUZZ_SEED").unwrap_or(1));
    let began = now();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut inputs: Vec<Vec<u8>> = corpus.iter().map(|input| input.to_vec()).collect();
    let mut ways = HashSet::new();
    for input in &inputs {
        ways.insert((led(name, input, &target), magnitude(input)));
    }
    let mut rounds = 0;
    while seconds.map_or(rounds < ROUNDS, |most| began.elapsed().as_secs() < most) {
        rounds += 1;
        let input = changed(&inputs, &mut random);
        // The word alone would end the growth at once: how long the input is says a little of where it went.
        let way = (led(name, &input, &target), magnitude(&input));
        if ways.insert(way) || (random.u8(..64) == 0 && inputs.len() < MOST) {
            inputs.push(input);
        }
    }
    let words: HashSet<&str> = ways.iter().map(|(word, _)| *word).collect();
    println!(
        "{name}: {rounds} rounds, led to {words:?}, {} inputs kept",
        inputs.len()
    );
    assert!(
        words.len() > 1,
        "{name}: every input led to the same: {words:?}"
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long to go on is a wish of whoever fuzzes, no part of a test"
)]
fn now() -> Instant {
    Instant::now()
}

fn led(name: &str, input: &[u8], target: &impl Fn(&[u8]) -> &'static str) -> &'static str {
    catch_unwind(AssertUnwindSafe(|| target(input))).unwrap_or_else(|_| {
        panic!("{name} fails on b\"{}\"", input.escape_ascii());
    })
}

fn magnitude(input: &[u8]) -> u32 {
    input.len().checked_ilog2().unwrap_or(0)
}

/// An input of the corpus, changed in a few places.
fn changed(inputs: &[Vec<u8>], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut input = inputs[random.usize(..inputs.len())].clone();
    for _ in 0..=random.usize(..6) {
        change(&mut input, inputs, random);
    }
    input.truncate(LONGEST);
    input
}

fn change(input: &mut Vec<u8>, inputs: &[Vec<u8>], random: &mut fastrand::Rng) {
    let at = random.usize(..=input.len());
    let end = (at + random.usize(..=16)).min(input.len());
    match random.u8(..8) {
        0 if at < input.len() => input[at] ^= 1 << random.u8(..8),
        1 if at < input.len() => input[at] = random.u8(..),
        2 => input.insert(at, random.u8(..)),
        3 => drop(input.drain(at..end)),
        4 => {
            let again = input[at..end].to_vec();
            for _ in 0..random.usize(..8) {
                input.splice(at..at, again.iter().copied());
            }
        }
        5 => {
            let token = TOKENS[random.usize(..TOKENS.len())];
            let end = if random.bool() { end } else { at };
            input.splice(at..end, token.iter().copied());
        }
        6 => {
            let other = &inputs[random.usize(..inputs.len())];
            let from = random.usize(..=other.len());
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        _ => {
            // A number in place of a number.
            let digits = input.iter().position(u8::is_ascii_digit);
            if let Some(from) = digits {
                let length = input[from..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_digit())
                    .count();
                let token = TOKENS[random.usize(..6)];
                input.splice(from..from + length, token.iter().copied());
            }
        }
    }
}

#[cfg(test)]
mod tests;
