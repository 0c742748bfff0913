//! Frames: what differs from the last one, and nothing else.

use std::io;

use ratatui_core::backend::Backend;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_crossterm::CrosstermBackend;

use crate::model::Model;
use crate::view::view;

/// Begin and end of a synchronised frame: terminals that know it show the frame at once, others ignore it.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";
/// Clears the screen.
const CLEAR: &[u8] = b"\x1b[0m\x1b[2J";
/// Largest screen that is drawn.
const MOST: (u16, u16) = (1000, 500);

/// What is on the terminal, and what is to be next.
#[derive(Debug)]
pub struct Screen {
    shown: Buffer,
    next: Buffer,
    /// Whether nothing is known of what is on the terminal.
    unknown: bool,
}

impl Screen {
    /// A screen of that size with nothing on it.
    #[must_use]
    pub fn new(width: u16, height: u16) -> Self {
        let area = Rect::new(0, 0, width.min(MOST.0), height.min(MOST.1));
        Self {
            shown: Buffer::empty(area),
            next: Buffer::empty(area),
            unknown: true,
        }
    }

    /// The next frame draws everything.
    pub fn forget(&mut self) {
        self.unknown = true;
    }

    /// The bytes that bring the terminal to what the model shows; none when it is there already.
    ///
    /// # Errors
    /// None that is known: bytes go to memory.
    pub fn frame(&mut self, model: &mut Model) -> io::Result<Vec<u8>> {
        model.settle();
        self.next.reset();
        view(model, &mut self.next);
        let mut bytes = Vec::new();
        if std::mem::take(&mut self.unknown) {
            bytes.extend_from_slice(CLEAR);
            self.shown.reset();
        }
        let changes = self.shown.diff(&self.next);
        if !changes.is_empty() {
            CrosstermBackend::new(&mut bytes).draw(changes.into_iter())?;
        }
        std::mem::swap(&mut self.shown, &mut self.next);
        if bytes.is_empty() {
            return Ok(bytes);
        }
        Ok([BEGIN, &bytes, END].concat())
    }

    /// What was drawn last.
    #[must_use]
    pub fn buffer(&self) -> &Buffer {
        &self.shown
    }
}
