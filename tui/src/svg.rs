//! A buffer as a picture, so that pages can show what a terminal shows.

use std::fmt::Write as _;

use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Color, Modifier};

use crate::view::theme::Palette;

/// Width and height of a cell, and the room around, in the picture's units.
const CELL: (u32, u32) = (8, 17);
const MARGIN: u32 = 14;

/// Draws a buffer as SVG with the colours of a palette's background.
#[must_use]
pub fn svg(buffer: &Buffer, palette: Palette) -> String {
    let area = *buffer.area();
    let width = u32::from(area.width) * CELL.0 + 2 * MARGIN;
    let height = u32::from(area.height) * CELL.1 + 2 * MARGIN;
    let (ground, text) = match palette {
        Palette::Dark => ("#1b1d22", "#d8dade"),
        Palette::Light | Palette::Mono => ("#fdfdfb", "#24262a"),
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"9\" fill=\"{ground}\"/>\n\
         <g font-family=\"ui-monospace,SFMono-Regular,Menlo,DejaVu Sans Mono,Consolas,monospace\" font-size=\"13\" fill=\"{text}\" xml:space=\"preserve\">\n"
    );
    for y in 0..area.height {
        row(&mut out, buffer, y);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// A row: grounds first, then runs of text of one style. Each run is stretched to its columns, so that a font of
/// another width cannot move what follows.
fn row(out: &mut String, buffer: &Buffer, y: u16) {
    let area = *buffer.area();
    let top = u32::from(y) * CELL.1 + MARGIN;
    let mut x = 0;
    while x < area.width {
        let Some(first) = buffer.cell((area.x + x, area.y + y)) else {
            return;
        };
        let begin = x;
        let mut run = String::new();
        while let Some(cell) = buffer.cell((area.x + x, area.y + y)) {
            if x >= area.width
                || (cell.fg, cell.bg, cell.modifier) != (first.fg, first.bg, first.modifier)
            {
                break;
            }
            run.push_str(cell.symbol());
            x += 1;
        }
        let left = u32::from(begin) * CELL.0 + MARGIN;
        let wide = u32::from(x - begin) * CELL.0;
        let reversed = first.modifier.contains(Modifier::REVERSED);
        if let Some(color) = color(first.bg) {
            let _ = writeln!(
                out,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{}\" fill=\"{color}\"/>",
                CELL.1
            );
        } else if reversed {
            let _ = writeln!(
                out,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{}\" fill=\"#d0d0d0\"/>",
                CELL.1
            );
        }
        if run.trim().is_empty() {
            continue;
        }
        let fill = color(first.fg).map_or(String::new(), |color| format!(" fill=\"{color}\""));
        let weight = if first.modifier.contains(Modifier::BOLD) {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let faint = if first.modifier.contains(Modifier::DIM) {
            " opacity=\"0.6\""
        } else {
            ""
        };
        let baseline = top + 13;
        let _ = writeln!(
            out,
            "<text x=\"{left}\" y=\"{baseline}\" textLength=\"{wide}\" lengthAdjust=\"spacingAndGlyphs\"{fill}{weight}{faint}>{}</text>",
            escaped(&run)
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A colour of the 256; `None` for the terminal's own.
fn color(color: Color) -> Option<String> {
    let Color::Indexed(index) = color else {
        return None;
    };
    let [red, green, blue] = rgb(index);
    Some(format!("#{red:02x}{green:02x}{blue:02x}"))
}

/// Red, green and blue of a place behind the first sixteen of the 256 colours, as every terminal has them.
pub(crate) fn rgb(index: u8) -> [u8; 3] {
    if index >= 232 {
        return [8 + (index - 232) * 10; 3];
    }
    let cube = index.saturating_sub(16);
    [cube / 36, cube / 6 % 6, cube % 6].map(|level| if level == 0 { 0 } else { 55 + level * 40 })
}
