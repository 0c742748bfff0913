//! What a command says when it could not do its work: how it exits, why in one sentence, and what to do about it.

pub(crate) mod ids;

use std::fmt;
use std::process::ExitCode;

/// The documented exit codes. Scripts branch on them, so a number never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Something failed that no other code names.
    Failure,
    /// The command line or an input is wrong.
    Usage,
    /// A wait ran out, or the thing asked about is not ready.
    NotReady,
    /// The named environment or object does not exist.
    NotFound,
    /// Refused because of a conflict, or for safety.
    Conflict,
    /// The environment, or the machine below it, is not as it must be.
    Environment,
    /// The API server cannot be reached.
    Unreachable,
    /// Ended by a hang-up of the terminal.
    HungUp,
    /// Ended by Ctrl-C.
    Interrupted,
    /// Whoever read our output has gone.
    ClosedPipe,
    /// Ended by SIGTERM.
    Terminated,
}

impl Exit {
    /// The number that the process exits with.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Failure => 1,
            Self::Usage => 2,
            Self::NotReady => 3,
            Self::NotFound => 4,
            Self::Conflict => 5,
            Self::Environment => 6,
            Self::Unreachable => 7,
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::ClosedPipe => 141,
            Self::Terminated => 143,
        }
    }
}

/// Why a command ends without success. Printed once, by `main`.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// How the process exits.
    pub(crate) exit: Exit,
    /// Stable id, `VMC-…`, to search for and to test against.
    pub(crate) id: &'static str,
    /// The cause, one sentence without a full stop.
    pub(crate) cause: String,
    /// What to do, ready to paste where it is a command.
    pub(crate) fix: Option<String>,
    /// Lines of a log that show the cause; at most twenty are printed.
    pub(crate) evidence: Vec<String>,
}

impl Failure {
    const ENDED: &str = "VMC-ENDED";

    /// A failure with its cause; add what to do by [`Failure::fix`].
    pub(crate) fn new(exit: Exit, id: &'static str, cause: impl fmt::Display) -> Self {
        Self {
            exit,
            id,
            cause: cause.to_string(),
            fix: None,
            evidence: Vec::new(),
        }
    }

    /// Says what to do about it.
    #[must_use]
    pub(crate) fn fix(mut self, fix: impl fmt::Display) -> Self {
        self.fix = Some(fix.to_string());
        self
    }

    /// Adds the last lines of a log.
    #[must_use]
    pub(crate) fn evidence(mut self, lines: Vec<String>) -> Self {
        self.evidence = lines;
        self
    }

    /// The reader of our output has gone: nothing to say, nobody to say it to.
    pub(crate) fn closed_pipe() -> Self {
        Self::new(
            Exit::ClosedPipe,
            "VMC-PIPE",
            "the reader of the output has gone",
        )
    }

    /// Ended by a signal, as it is meant to be ended: nothing to say.
    pub(crate) fn ended(exit: Exit) -> Self {
        Self::new(exit, Self::ENDED, "ended by a signal")
    }

    /// Whether there is nothing to say.
    pub(crate) fn is_silent(&self) -> bool {
        self.exit == Exit::ClosedPipe || self.id == Self::ENDED
    }

    /// The exit code for `main`.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit.code())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.cause)
    }
}

/// An error with everything that caused it, from the outside in, joined by colons.
///
/// Some libraries repeat the cause in their own text; such a repetition is left out.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("outer: {0}")]
    struct Repeating(#[source] std::io::Error);

    #[test]
    fn a_chain_says_every_cause_once() {
        assert_eq!(
            chain(&Outer(std::io::Error::other("inner"))),
            "outer: inner"
        );
        assert_eq!(
            chain(&Repeating(std::io::Error::other("inner"))),
            "outer: inner"
        );
    }
}
