//! A child that is started again when it ends, slower each time it does so soon.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::child::{self, Child, Program};
use crate::clock;

/// First pause before a restart.
const FIRST: Duration = Duration::from_millis(500);
/// Longest pause before a restart.
const LONGEST: Duration = Duration::from_secs(30);
/// A child that ran this long is healthy again: its next end is its first.
const HEALTHY: Duration = Duration::from_secs(60);

/// A child with the promise to start it again.
#[derive(Debug)]
pub(crate) struct Kept {
    program: Program,
    dir: PathBuf,
    child: Option<Child>,
    started: Instant,
    pause: Duration,
    due: Instant,
    restarts: u32,
    last_end: Option<String>,
}

impl Kept {
    /// Starts a child and keeps it running.
    ///
    /// # Errors
    /// It cannot be started at all.
    pub(crate) fn start(program: Program, dir: &Path) -> Result<Self, child::Error> {
        let child = Some(Child::start(&program, dir)?);
        let now = clock::now();
        let dir = dir.to_owned();
        Ok(Self {
            program,
            dir,
            child,
            started: now,
            pause: FIRST,
            due: now,
            restarts: 0,
            last_end: None,
        })
    }

    /// Waits for the next change: the child's end, or its restart after the pause. Cancelling this loses nothing.
    pub(crate) async fn turn(&mut self) {
        if let Some(child) = &mut self.child {
            let status = child.ended().await;
            self.child = None;
            if self.started.elapsed() >= HEALTHY {
                self.pause = FIRST;
            }
            self.postpone(status);
            return;
        }
        clock::sleep(self.due.saturating_duration_since(clock::now())).await;
        match Child::start(&self.program, &self.dir) {
            Ok(child) => {
                self.child = Some(child);
                self.started = clock::now();
                self.restarts += 1;
            }
            Err(error) => self.postpone(crate::hint::chain(&error)),
        }
    }

    fn postpone(&mut self, why: String) {
        self.last_end = Some(why);
        self.due = clock::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST);
    }

    /// The child while it runs.
    pub(crate) fn child(&self) -> Option<&Child> {
        self.child.as_ref()
    }

    /// The child while it runs.
    pub(crate) fn child_mut(&mut self) -> Option<&mut Child> {
        self.child.as_mut()
    }

    /// Name of the program.
    pub(crate) fn name(&self) -> &'static str {
        self.program.name
    }

    /// How often it was started again.
    pub(crate) fn restarts(&self) -> u32 {
        self.restarts
    }

    /// How it ended last.
    pub(crate) fn last_end(&self) -> Option<&str> {
        self.last_end.as_deref()
    }

    /// Ends the child and the promise.
    pub(crate) async fn stop(&mut self, grace: Duration) {
        if let Some(mut child) = self.child.take() {
            child.stop(grace).await;
        }
    }
}
