//! How a wait is told on stderr: a line for each change; in between, on a terminal, one line that counts the seconds,
//! elsewhere a sign of life every 15 seconds. No control characters off a terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::clock;
use crate::cluster::follow::{Change, Follow};
use crate::hint::Failure;
use crate::output::{self, Talk};

/// How often a terminal is brought up to date.
const TICK: Duration = Duration::from_secs(1);
/// Longest silence off a terminal.
const HEARTBEAT: Duration = Duration::from_secs(15);

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
        Self {
            talk: Talk::new(false),
            live: output::is_live(),
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

    /// Waits for an object no more, and says nothing about it.
    pub(crate) fn forget(&mut self, name: &str) {
        self.told.remove(name);
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

    /// Gives a sign of life, where one is due.
    pub(crate) fn tick(&mut self) {
        if self.told.is_empty() {
            return;
        }
        if self.live {
            output::life(&self.line_of_life(""));
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
            output::life("");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_when() {
        assert_eq!(line(Duration::from_millis(2345), "x"), "   2.3s  x");
    }
}
