//! The way of messages from sources to whoever shows them.

use tokio::sync::mpsc::Sender;
use vm_tui::{Health, Message, Source};

use super::clock::Clock;

/// Sends messages. When nobody takes them any more, that is nobody's failure: the program is about to end.
#[derive(Clone)]
pub(super) struct Out {
    messages: Sender<Message>,
    pub(super) clock: Clock,
}

impl Out {
    pub(super) fn new(messages: Sender<Message>, clock: Clock) -> Self {
        Self { messages, clock }
    }

    /// Sends a message, and waits while there is no room: a source that tells too much is slowed down, not buffered.
    pub(super) async fn send(&self, message: Message) {
        let _ = self.messages.send(message).await;
    }

    /// Says how a source is.
    pub(super) async fn health(&self, source: &Source, health: Health) {
        let at = self.clock.now();
        let source = source.clone();
        self.send(Message::Source { source, health, at }).await;
    }

    /// Says that a source is lost.
    pub(super) async fn lost(&self, source: &Source, why: impl Into<String>) {
        self.health(source, Health::Lost { why: why.into() }).await;
    }
}
