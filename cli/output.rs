//! Data goes to stdout, talk to stderr; a reader that has gone is an outcome, never a panic.

use std::io::{ErrorKind, IsTerminal, Write};

use anstyle::{AnsiColor, Style};

use crate::clock;
use crate::hint::Failure;

/// When output is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Sets the colour choice for both streams; the flag is stronger than the environment. Called once before the flags are
/// read, for help and wrong command lines, and once with the flag.
pub(crate) fn choose_color(color: Color) {
    let choice = match color {
        // Where `CI` is set the library would take any terminal for one with colours.
        Color::Auto if is_dumb() => anstream::ColorChoice::Never,
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Prints one line of data on stdout.
///
/// # Errors
/// [`Failure::closed_pipe`] when nobody reads any more; any other write error as a failure.
pub(crate) fn data(line: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    let written = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::closed_pipe(),
        _other => Failure::new(
            crate::hint::Exit::Failure,
            "VMC-STDOUT",
            format!("cannot write to stdout: {error}"),
        ),
    })
}

/// Text of others (servers, programs) without control characters, so that it cannot drive the terminal.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == '\n' || c == '\t' || !c.is_control() {
                c
            } else {
                '\u{fffd}'
            }
        })
        .collect()
}

/// The voice on stderr. Quiet keeps everything to itself but failures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Talk {
    quiet: bool,
    /// Whether a line of life may stand where the next line goes.
    live: bool,
    /// Whether each line begins with the time.
    stamped: bool,
}

/// Whether the terminal takes text and nothing else.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Whether stderr is a terminal on which a line can be written over.
pub(crate) fn is_live() -> bool {
    std::io::stderr().is_terminal()
        && !is_dumb()
        && std::env::var_os("CI").is_none_or(|ci| ci.is_empty())
}

/// Columns of the terminal at stderr; 80 where it does not say.
pub(crate) fn columns() -> usize {
    rustix::termios::tcgetwinsize(std::io::stderr()).map_or(80, |size| usize::from(size.ws_col))
}

/// Writes over the line of life; nothing stays of it when the text is empty.
pub(crate) fn life(text: &str) {
    let _ = write!(
        std::io::stderr().lock(),
        "\r\u{1b}[2K{}",
        cut(text, columns())
    );
}

/// What fits into a line of a terminal, its last column kept free.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let text = clean(text);
    let room = columns.saturating_sub(1);
    if text.chars().count() <= room {
        return text;
    }
    let kept = text.chars().take(room.saturating_sub(1));
    kept.chain("…".chars().take(room)).collect()
}

impl Talk {
    /// A voice, or its silence.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            live: false,
            stamped: false,
        }
    }

    /// The same where each line begins with the time (UTC): somebody reads it later.
    #[must_use]
    pub(crate) fn stamped(mut self, stamped: bool) -> Self {
        self.stamped = stamped;
        self
    }

    fn stamp(&self) -> String {
        if self.stamped {
            clock::timestamp().strftime("%H:%M:%SZ ").to_string()
        } else {
            String::new()
        }
    }

    /// The same where a line of life is written over and over: it goes before each line.
    #[must_use]
    pub(crate) fn live(mut self, live: bool) -> Self {
        self.live = live && !self.quiet;
        self
    }

    /// Whether there is a line of life.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// One line of our own with colours in it; the stream drops them where they are not wanted.
    pub(crate) fn styled(&self, text: &str) {
        if self.live {
            life("");
        }
        if !self.quiet {
            let _ = writeln!(anstream::stderr().lock(), "{}{text}", self.stamp());
        }
    }

    /// One line for people. A closed stderr is ignored: there is nobody to tell.
    pub(crate) fn line(&self, text: &str) {
        if self.live {
            life("");
        }
        if !self.quiet {
            let _ = writeln!(anstream::stderr().lock(), "{}{}", self.stamp(), clean(text));
        }
    }
}

/// Prints a failure: cause, evidence, what to do.
pub(crate) fn failure(failure: &Failure) {
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let dim = Style::new().dimmed();
    let bold = Style::new().bold();
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(
        stderr,
        "{red}error{red:#} [{}]: {}",
        failure.id,
        clean(&failure.cause)
    );
    let skip = failure.evidence.len().saturating_sub(20);
    for line in failure.evidence.iter().skip(skip) {
        let _ = writeln!(stderr, "  {dim}| {}{dim:#}", clean(line.trim_end()));
    }
    if let Some(fix) = &failure.fix {
        let _ = writeln!(stderr, "{bold}what to do{bold:#}: {}", clean(fix));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_terminal_never_wraps() {
        for columns in 0..30 {
            assert!(
                cut("web-1: Provisioning, ä", columns).chars().count() <= columns.saturating_sub(1)
            );
        }
        assert_eq!(cut("web-1: on its way", 8), "web-1:…");
        assert_eq!(cut("short", 20), "short");
        assert_eq!(cut("a\u{1b}[2J", 20), "a\u{fffd}[2J");
    }

    #[test]
    fn text_of_others_cannot_drive_the_terminal() {
        assert_eq!(
            clean("a\u{1b}[2Jb\r\u{9b}c\n\td"),
            "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\n\td"
        );
    }
}
