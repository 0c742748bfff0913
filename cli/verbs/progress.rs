//! How a wait is told on stderr: a line for each change; in between, on a terminal, one line that counts the seconds,
//! elsewhere a sign of life every 15 seconds. No control characters off a terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::clock;
use crate::cluster::follow::{Change, Follow};
use crate::hint::Failure;
use crate::output::{Talk, clean};

/// How often a terminal is brought up to date.
const TICK: Duration = Duration::from_secs(1);
/// Longest silence off a terminal.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

/// The telling of one wait.
#[derive(Debug)]
pub(crate) struct Progress {
    talk: Talk,
    live: bool,
    began: Instant,
    spoke: Instant,
    /// What was last told of each object.
    told: BTreeMap<String, String>,
}

impl Progress {
    /// Begins now.
    pub(crate) fn new() -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        Self {
            talk: Talk::new(false),
            live: std::io::stderr().is_terminal() && !dumb,
            began: clock::now(),
            spoke: clock::now(),
            told: BTreeMap::new(),
        }
    }

    /// Time since it began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Tells how an object is, if that is news.
    pub(crate) fn tell(&mut self, name: &str, story: &str) {
        if self.told.get(name).is_none_or(|told| told != story) {
            self.told.insert(name.to_owned(), story.to_owned());
            self.say(&format!("{name}: {story}"));
        }
    }

    /// Tells that an object needs no more waiting.
    pub(crate) fn done(&mut self, name: &str, story: &str) {
        self.told.remove(name);
        self.say(&format!("{name}: {story}"));
    }

    /// One line with the time.
    pub(crate) fn say(&mut self, text: &str) {
        self.clear();
        self.spoke = clock::now();
        let line = line(self.elapsed(), text);
        self.talk.line(&line);
    }

    /// The next change of what is followed; tells of a lost connection by itself. Meanwhile signs of life are given.
    ///
    /// # Errors
    /// Those of [`Follow::next`].
    pub(crate) async fn next(&mut self, follow: &mut Follow) -> Result<Change, Failure> {
        let next = follow.next();
        let mut next = std::pin::pin!(next);
        loop {
            tokio::select! {
                change = &mut next => {
                    let change = change?;
                    match &change {
                        Change::Cut(why) => self.say(&format!("connection lost, trying again: {why}")),
                        Change::Back => self.say("connected again"),
                        Change::Columns(_) | Change::Present(_) | Change::Gone(_) | Change::Listed => {}
                    }
                    return Ok(change);
                }
                () = clock::sleep(TICK) => self.tick(),
            }
        }
    }

    fn tick(&mut self) {
        if self.told.is_empty() {
            return;
        }
        if self.live {
            let text = self.line_of_life("");
            let columns = rustix::termios::tcgetwinsize(std::io::stderr())
                .map_or(COLUMNS, |size| usize::from(size.ws_col));
            let _ = write!(
                std::io::stderr().lock(),
                "\r\u{1b}[2K{}",
                cut(&text, columns)
            );
        } else if self.spoke.elapsed() >= HEARTBEAT {
            self.spoke = clock::now();
            let text = self.line_of_life("still waiting: ");
            self.talk.line(&text);
        }
    }

    fn line_of_life(&self, words: &str) -> String {
        let mut text = line(self.elapsed(), words);
        match self.told.iter().next() {
            Some((name, story)) if self.told.len() == 1 => {
                let _ = write!(text, "{name}: {story}");
            }
            _several => {
                let _ = write!(text, "waiting for {} objects", self.told.len());
            }
        }
        text.lines().next().unwrap_or_default().to_owned()
    }

    fn clear(&self) {
        if self.live {
            let _ = write!(std::io::stderr().lock(), "\r\u{1b}[2K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(elapsed: Duration, text: &str) -> String {
    format!("{:>6.1}s  {text}", elapsed.as_secs_f64())
}

/// What fits into a line of a terminal, its last column kept free.
fn cut(text: &str, columns: usize) -> String {
    let text = clean(text);
    let room = columns.saturating_sub(1);
    if text.chars().count() <= room {
        return text;
    }
    let kept = text.chars().take(room.saturating_sub(1));
    kept.chain("…".chars().take(room)).collect()
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
    fn a_line_says_when() {
        assert_eq!(line(Duration::from_millis(2345), "x"), "   2.3s  x");
    }
}
