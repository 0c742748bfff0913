//! Logs: JSON for machines, text for a terminal, the level changeable while running.

mod json;

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;
use tracing::Subscriber;
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object per line.
    Json,
    /// For people.
    Text,
}

impl Format {
    /// JSON, unless standard error, where logs go, is a terminal.
    pub fn for_stderr() -> Self {
        if io::stderr().is_terminal() {
            Self::Text
        } else {
            Self::Json
        }
    }
}

/// Why logging cannot be set up or changed.
#[derive(Debug, Error)]
pub enum Error {
    /// The level is not one.
    #[error(
        "log level {0:?} is not understood: write error, warn, info, debug, trace or off, or target=level pairs with commas between"
    )]
    Level(String),
    /// Another subscriber is installed.
    #[error("logging is set up already")]
    Installed,
    /// The subscriber is gone.
    #[error("logging has ended")]
    Ended,
}

/// Changes the level while running. Cheap to clone.
#[derive(Clone)]
pub struct LogHandle {
    reload: Arc<dyn Fn(EnvFilter) -> Result<(), Error> + Send + Sync>,
    level: Arc<Mutex<String>>,
}

impl LogHandle {
    /// Sets the level: a word (`debug`), or directives (`info,vmoperator::runtime=trace`).
    ///
    /// # Errors
    /// When the text is no level; the old one stays.
    pub fn set_level(&self, level: &str) -> Result<(), Error> {
        (self.reload)(filter(level)?)?;
        level.clone_into(&mut self.level.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    /// The level as it was set last.
    pub fn level(&self) -> String {
        let level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        level.clone()
    }
}

/// Crates whose lines below `info` tell of bytes, frames and headers, not of virtual machines. A plain level leaves
/// them at `info`; to see them, name them: `debug,hyper=trace`. It also keeps what they print of requests out of logs.
const WIRE: [&str; 8] = [
    "h2",
    "hyper",
    "hyper_util",
    "kube_client",
    "reqwest",
    "rustls",
    "tokio",
    "tower",
];

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

fn filter(level: &str) -> Result<EnvFilter, Error> {
    let error = || Error::Level(level.chars().take(100).collect());
    let word = level.trim().to_lowercase();
    if LEVELS.contains(&word.as_str()) {
        let quiet = if matches!(word.as_str(), "debug" | "trace") {
            "info"
        } else {
            word.as_str()
        };
        let directives = WIRE.iter().fold(word.clone(), |text, target| {
            format!("{text},{target}={quiet}")
        });
        return EnvFilter::try_new(directives).map_err(|_| error());
    }
    // A lone word that is no level would be taken for the name of a target and silence everything else.
    let is_directive = |part: &str| {
        let part = part.to_lowercase();
        LEVELS.contains(&part.as_str())
            || part
                .split_once('=')
                .is_some_and(|(target, level)| !target.is_empty() && LEVELS.contains(&level))
    };
    let parts: Vec<&str> = level.split(',').map(str::trim).collect();
    if !parts.iter().all(|part| is_directive(part)) {
        return Err(error());
    }
    EnvFilter::try_new(parts.join(",")).map_err(|_| error())
}

/// Installs logging to standard error for the whole process, and the panic hook.
///
/// # Errors
/// When `level` is no level, or logging is installed already.
pub fn init(format: Format, level: &str) -> Result<LogHandle, Error> {
    let (subscriber, handle) = subscriber(format, level, io::stderr)?;
    tracing::subscriber::set_global_default(subscriber).map_err(|_| Error::Installed)?;
    std::panic::set_hook(Box::new(log_panic));
    Ok(handle)
}

/// A subscriber that writes to `writer`, and the handle that changes its level.
///
/// # Errors
/// When `level` is no level.
pub fn subscriber<W>(
    format: Format,
    level: &str,
    writer: W,
) -> Result<(Box<dyn Subscriber + Send + Sync>, LogHandle), Error>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(filter(level)?);
    let handle = LogHandle {
        reload: Arc::new(move |filter| handle.reload(filter).map_err(|_| Error::Ended)),
        level: Arc::new(Mutex::new(level.to_owned())),
    };
    let registry = tracing_subscriber::registry().with(filter);
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    let subscriber: Box<dyn Subscriber + Send + Sync> = match format {
        Format::Json => {
            let layer = layer
                .fmt_fields(JsonFields::new())
                .event_format(json::FlatJson);
            Box::new(registry.with(layer))
        }
        Format::Text => Box::new(registry.with(layer.with_ansi(io::stderr().is_terminal()))),
    };
    Ok((subscriber, handle))
}

/// Says where a panic was and nothing of what it carries: that may hold a credential.
fn log_panic(info: &std::panic::PanicHookInfo<'_>) {
    let place = info
        .location()
        .map_or_else(|| "unknown place".to_owned(), ToString::to_string);
    let thread = std::thread::current();
    tracing::error!(
        place,
        thread = thread.name(),
        "panic; its message is left out because it may hold secrets"
    );
}

#[cfg(test)]
mod tests;
