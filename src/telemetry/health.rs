//! Checks behind `/livez` and `/readyz`.

use std::sync::{Arc, Mutex, PoisonError};

/// One check: why it fails, in words for an operator's log.
type Check = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// A list of named checks; all must hold. Cheap to clone, every clone is the same list.
#[derive(Clone, Default)]
pub struct Checks(Arc<Mutex<Vec<(String, Check)>>>);

/// What the checks say now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether every check holds.
    pub healthy: bool,
    /// A line per check, in the API server's form: `[+]name ok` or `[-]name failed: why`.
    pub report: String,
}

impl Checks {
    /// No checks: healthy.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a check. It is called at each probe: quick, without waiting for anything.
    pub fn add(
        &self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((name.into(), Box::new(check)));
    }

    /// Asks every check.
    pub fn verdict(&self) -> Verdict {
        let checks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut verdict = Verdict {
            healthy: true,
            report: String::new(),
        };
        for (name, check) in checks.iter() {
            let line = match check() {
                Ok(()) => format!("[+]{name} ok"),
                Err(why) => {
                    verdict.healthy = false;
                    format!("[-]{name} failed: {why}")
                }
            };
            verdict.report.push_str(&line);
            verdict.report.push('\n');
        }
        verdict
    }
}

#[cfg(test)]
mod tests;
