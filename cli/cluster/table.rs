//! The API server's tables, set as kubectl sets them.

use serde_json::Value;

use crate::output::clean;

/// Narrowest column, the gap included.
const NARROWEST: usize = 6;
/// Gap between columns.
const GAP: usize = 3;

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// Its name.
    pub(crate) name: String,
    /// 0: always shown; more: only in the wide form.
    pub(crate) priority: i64,
}

/// Sets rows below each other. A column never gets narrower, so that rows that come later stay in line.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    wide: bool,
    namespaces: bool,
    headless: bool,
    headed: bool,
    widths: Vec<usize>,
}

/// The columns that a table of the API server defines; none where it defines none.
pub(crate) fn columns(table: &Value) -> Vec<Column> {
    let list = table["columnDefinitions"].as_array();
    let column = |column: &Value| Column {
        name: column["name"].as_str().unwrap_or_default().to_owned(),
        priority: column["priority"].as_i64().unwrap_or_default(),
    };
    list.into_iter().flatten().map(column).collect()
}

impl Table {
    /// `wide` shows every column, `namespaces` puts the namespace before them.
    pub(crate) fn new(wide: bool, namespaces: bool) -> Self {
        Self {
            columns: Vec::new(),
            wide,
            namespaces,
            headless: false,
            headed: false,
            widths: Vec::new(),
        }
    }

    /// With a header, or without one.
    #[must_use]
    pub(crate) fn headed(mut self, headed: bool) -> Self {
        self.headless = !headed;
        self
    }

    /// Sets the columns. Other ones than before begin a new table with its own header.
    pub(crate) fn set_columns(&mut self, columns: Vec<Column>) {
        if columns != self.columns {
            self.columns = columns;
            self.headed = false;
            self.widths.clear();
        }
    }

    /// The lines for rows, each given by its namespace and cells; the header comes before the first.
    pub(crate) fn lines<'a>(
        &mut self,
        rows: impl IntoIterator<Item = (&'a str, &'a [Value])>,
    ) -> Vec<String> {
        let mut set: Vec<Vec<String>> = rows
            .into_iter()
            .map(|(namespace, cells)| self.cells(namespace, cells.iter().map(text)))
            .collect();
        if set.is_empty() {
            return Vec::new();
        }
        if !self.headed && !self.headless {
            let names = self
                .columns
                .iter()
                .map(|column| clean(&column.name).to_uppercase());
            set.insert(0, self.cells("NAMESPACE", names));
            self.headed = true;
        }
        for row in &set {
            for (index, cell) in row.iter().enumerate() {
                let width = NARROWEST.max(cell.chars().count() + GAP);
                match self.widths.get_mut(index) {
                    Some(widest) => *widest = width.max(*widest),
                    None => self.widths.push(width),
                }
            }
        }
        set.iter().map(|row| self.line(row)).collect()
    }

    fn cells(&self, namespace: &str, cells: impl Iterator<Item = String>) -> Vec<String> {
        let shown = self
            .columns
            .iter()
            .map(|column| self.wide || column.priority == 0);
        let cells = cells
            .zip(shown)
            .filter_map(|(cell, shown)| shown.then_some(cell));
        let namespace = self.namespaces.then(|| clean(namespace));
        namespace.into_iter().chain(cells).collect()
    }

    fn line(&self, row: &[String]) -> String {
        let mut line = String::new();
        for (index, cell) in row.iter().enumerate() {
            line.push_str(cell);
            if index + 1 < row.len() {
                let width = self.widths.get(index).copied().unwrap_or_default();
                let blank = width.saturating_sub(cell.chars().count());
                line.extend(std::iter::repeat_n(' ', blank));
            }
        }
        line
    }
}

/// A cell in a line of its own: cut at the first line end, without anything that drives a terminal.
fn text(cell: &Value) -> String {
    let text = match cell {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let cut = text.find(['\n', '\r', '\u{c}']);
    let mut shown = clean(cut.map_or(text.as_str(), |end| &text[..end])).replace('\t', " ");
    if cut.is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests;
