//! Frames on their way to the terminal, from a thread of its own: a terminal that takes no bytes must not hold up keys,
//! signals or the end.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{SyncSender, sync_channel};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Writes one frame at a time.
pub(super) struct Writer {
    frames: SyncSender<Vec<u8>>,
    written: UnboundedReceiver<bool>,
    busy: bool,
}

impl Writer {
    /// A writer to a terminal. The thread ends with the writer, or with the process when the terminal holds it.
    pub(super) fn start(terminal: OwnedFd) -> Self {
        let (frames, waiting) = sync_channel::<Vec<u8>>(1);
        let (report, written) = unbounded_channel();
        std::thread::spawn(move || {
            let mut terminal = File::from(terminal);
            while let Ok(frame) = waiting.recv() {
                let well = terminal.write_all(&frame).is_ok();
                if report.send(well).is_err() || !well {
                    return;
                }
            }
        });
        Self {
            frames,
            written,
            busy: false,
        }
    }

    /// Whether a frame is on its way: the next one has to wait, and will show what happened meanwhile.
    pub(super) fn is_busy(&self) -> bool {
        self.busy
    }

    /// Sends a frame. Only when none is on its way.
    pub(super) fn send(&mut self, frame: Vec<u8>) {
        if !frame.is_empty() {
            self.busy = self.frames.try_send(frame).is_ok();
        }
    }

    /// The end of the frame that is on its way; false when the terminal has gone. Pending without one.
    pub(super) async fn done(&mut self) -> bool {
        if !self.busy {
            return std::future::pending().await;
        }
        let well = self.written.recv().await.unwrap_or(false);
        self.busy = false;
        well
    }
}
