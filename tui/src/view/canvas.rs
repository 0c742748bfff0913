//! Drawing that cannot leave its place: everything is clipped here, so that no size and no text can make it panic.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::theme::{Glyphs, Palette, Role};

/// A buffer with the means to draw on it.
pub(super) struct Canvas<'a> {
    buffer: &'a mut Buffer,
    pub(super) palette: Palette,
    pub(super) glyphs: Glyphs,
    /// Whether everything is dimmed: what is shown is old.
    pub(super) stale: bool,
}

/// A row that is written from left to right.
pub(super) struct Line<'c, 'a> {
    canvas: &'c mut Canvas<'a>,
    x: u16,
    y: u16,
    end: u16,
}

impl<'a> Canvas<'a> {
    /// Draws on a buffer.
    pub(super) fn new(buffer: &'a mut Buffer, palette: Palette, glyphs: Glyphs) -> Self {
        Self {
            buffer,
            palette,
            glyphs,
            stale: false,
        }
    }

    /// The row of an area; writing to one that is not there does nothing.
    pub(super) fn line(&mut self, area: Rect, row: u16) -> Line<'_, 'a> {
        let area = area.intersection(self.buffer.area);
        let y = area.y.saturating_add(row);
        let end = if row < area.height {
            area.right()
        } else {
            area.x
        };
        Line {
            canvas: self,
            x: area.x,
            y,
            end,
        }
    }

    /// Puts a style under an area.
    pub(super) fn paint(&mut self, area: Rect, style: Style) {
        let area = area.intersection(self.buffer.area);
        self.buffer.set_style(area, style);
    }

    /// Makes an area empty.
    pub(super) fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        for y in area.y..area.bottom() {
            for x in area.x..area.right() {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                }
            }
        }
    }

    /// One character at a place within an area.
    pub(super) fn dot(&mut self, area: Rect, (x, y): (u16, u16), symbol: &str, role: Role) {
        if x < area.width && y < area.height {
            let mut line = self.line(area, y);
            line.x = line.x.saturating_add(x).min(line.end);
            line.put(symbol, role);
        }
    }

    fn style(&self, role: Role) -> Style {
        let role = match role {
            Role::Text | Role::Good | Role::Busy | Role::Accent if self.stale => Role::Dim,
            other => other,
        };
        self.palette.style(role)
    }
}

impl Line<'_, '_> {
    /// Columns that are left.
    pub(super) fn left(&self) -> u16 {
        self.end.saturating_sub(self.x)
    }

    /// Leaves columns free.
    pub(super) fn skip(&mut self, columns: u16) -> &mut Self {
        self.x = self.x.saturating_add(columns).min(self.end);
        self
    }

    /// Writes as much of a text as there is room for.
    pub(super) fn put(&mut self, text: &str, role: Role) -> &mut Self {
        let style = self.canvas.style(role);
        self.styled(text, style)
    }

    /// The same with a style.
    pub(super) fn styled(&mut self, text: &str, style: Style) -> &mut Self {
        let room = usize::from(self.left());
        if room > 0 {
            let text = tame(text);
            let (x, _) = self
                .canvas
                .buffer
                .set_stringn(self.x, self.y, text, room, style);
            self.x = x.min(self.end);
        }
        self
    }

    /// Writes a text into a column of that width, cut with an ellipsis where it is longer, and leaves a gap behind it.
    pub(super) fn cell(&mut self, text: &str, width: u16, role: Role) -> &mut Self {
        let (from, end) = (self.x, self.end);
        let until = from.saturating_add(width).min(end);
        self.end = until;
        if columns(text) > width {
            self.end = until.saturating_sub(1).max(from);
            self.put(text, role);
            self.end = until;
            let ellipsis = self.canvas.glyphs.pick("…", "~");
            self.put(ellipsis, role);
        } else {
            self.put(text, role);
        }
        self.end = end;
        self.x = until.saturating_add(1).min(end);
        self
    }

    /// The same with the text at the right edge of the column.
    pub(super) fn number(&mut self, text: &str, width: u16, role: Role) -> &mut Self {
        let free = width.saturating_sub(columns(text));
        self.skip(free).cell(text, width - free, role)
    }

    /// Writes at the right edge of what is left; nothing when it does not fit.
    pub(super) fn right(&mut self, parts: &[(&str, Role)]) -> &mut Self {
        let width: u16 = parts
            .iter()
            .fold(0, |sum, (text, _)| sum.saturating_add(columns(text)));
        if width < self.left() {
            self.x = self.end - width;
            for (text, role) in parts {
                self.put(text, *role);
            }
        }
        self
    }

    /// Fills what is left.
    pub(super) fn fill(&mut self, symbol: &str, role: Role) {
        let text = symbol.repeat(usize::from(self.left()));
        self.put(&text, role);
    }
}

/// Columns that a text takes.
pub(super) fn columns(text: &str) -> u16 {
    if text.is_ascii() {
        return u16::try_from(text.len()).unwrap_or(u16::MAX);
    }
    let width = ratatui_core::text::Span::raw(text).width();
    u16::try_from(width).unwrap_or(u16::MAX)
}

/// Text of others without what could turn the writing round; control characters are left out by the buffer.
fn tame(text: &str) -> std::borrow::Cow<'_, str> {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if text.is_ascii() || !text.contains(turns) {
        return text.into();
    }
    text.replace(turns, "").into()
}
