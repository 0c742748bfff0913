//! What happened, as a hash always and as lines on demand.

/// The trace of a run.
#[derive(Debug)]
pub(super) struct Trace {
    hash: u64,
    lines: Option<Vec<String>>,
}

impl Trace {
    /// A trace that keeps its lines, or only their hash.
    pub(super) fn new(keep: bool) -> Self {
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            lines: keep.then(Vec::new),
        }
    }

    /// Notes that something of this kind happened; the line is made only where it is kept.
    pub(super) fn line(&mut self, kind: u64, line: impl FnOnce() -> String) {
        self.mix(kind);
        if let Some(lines) = &mut self.lines {
            lines.push(line());
        }
    }

    /// Mixes a number into the hash.
    pub(super) fn mix(&mut self, number: u64) {
        self.hash = (self.hash ^ number)
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(5);
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    pub(super) fn lines(&self) -> &[String] {
        self.lines.as_deref().unwrap_or_default()
    }
}
