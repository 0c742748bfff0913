//! Small charts of one measure over time. A gap is a gap, a zero is a line at the bottom.

use ratatui_core::layout::Rect;

use super::canvas::Canvas;
use super::theme::Role;

/// Draws a chart that fills its area, one column per value, the last at the right edge. `marks` are columns at which
/// something changed. Returns the value at its top.
pub(super) fn chart(
    canvas: &mut Canvas<'_>,
    area: Rect,
    values: &[Option<f64>],
    marks: &[usize],
    role: Role,
) -> f64 {
    let finite = values
        .iter()
        .flatten()
        .copied()
        .filter(|value| value.is_finite());
    let top = finite.fold(0.0_f64, f64::max);
    let (gap, mark) = (canvas.glyphs.pick("·", "."), canvas.glyphs.pick("┊", "|"));
    let levels = canvas.glyphs.levels();
    let first = values.len().saturating_sub(usize::from(area.width));
    let free = usize::from(area.width).saturating_sub(values.len());
    for (index, value) in values.iter().enumerate().skip(first) {
        let Ok(x) = u16::try_from(free + index - first) else {
            break;
        };
        let marked = marks.contains(&index);
        for row in 0..area.height {
            let from_bottom = area.height - 1 - row;
            let symbol = value
                .filter(|value| value.is_finite())
                .map(|value| levels[level(value, top, area.height, from_bottom)]);
            let (symbol, role) = match symbol {
                None if from_bottom == 0 => (gap, Role::Faint),
                Some(" ") | None if marked => (mark, Role::Warn),
                Some(symbol) if marked && from_bottom == 0 => (symbol, Role::Warn),
                Some(symbol) if top <= 0.0 => (symbol, Role::Faint),
                Some(symbol) => (symbol, role),
                None => continue,
            };
            canvas.dot(area, (x, row), symbol, role);
        }
    }
    top
}

/// How full a cell is, in eighths. What is measured is never quite empty at the bottom.
fn level(value: f64, top: f64, rows: u16, from_bottom: u16) -> usize {
    let share = if top > 0.0 {
        (value / top).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let eighths = (share * f64::from(rows) * 8.0).round();
    let here = eighths - f64::from(from_bottom) * 8.0;
    let least = if from_bottom == 0 { 1.0 } else { 0.0 };
    here.clamp(least, 8.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_fills_as_many_eighths_as_its_share() {
        let column = |value| [1, 0].map(|row| level(value, 16.0, 2, row));
        assert_eq!(column(16.0), [8, 8]);
        assert_eq!(column(9.0), [1, 8]);
        assert_eq!(column(8.0), [0, 8]);
        assert_eq!(column(3.0), [0, 3]);
        assert_eq!(column(0.0), [0, 1]);
    }

    #[test]
    fn hostile_values_have_a_level() {
        for value in [f64::MAX, -1.0, f64::MIN_POSITIVE] {
            for top in [0.0, f64::MAX, f64::MIN_POSITIVE] {
                assert!(level(value, top, 3, 0) <= 8);
            }
        }
    }
}
