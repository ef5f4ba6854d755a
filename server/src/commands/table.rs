//! Tables for a terminal.

use unicode_width::UnicodeWidthStr;

use super::terminal::escaped;

/// The widest cell. The rest of a longer text is cut off.
const CELL_MAX: usize = 48;

/// Rows of cells under a head. A cell is shown as it is and obeyed by no terminal.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    /// Whether a column has figures, which stand at its right edge.
    figures: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty one. The name of a column with figures begins with `#`.
    pub(crate) fn new(columns: &[&'static str]) -> Self {
        Table {
            head: columns.iter().map(|name| name.trim_start_matches('#')).collect(),
            figures: columns.iter().map(|name| name.starts_with('#')).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, with as many cells as there are columns.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        debug_assert_eq!(N, self.head.len());
        self.rows
            .push(cells.iter().map(|cell| cut(&escaped(cell), CELL_MAX)).collect());
    }

    /// The head and the rows, as lines of columns.
    pub(crate) fn text(&self) -> String {
        let head: Vec<String> = self.head.iter().map(|name| (*name).to_owned()).collect();
        let widths: Vec<usize> = (0..head.len())
            .map(|column| {
                let cells = self.rows.iter().chain([&head]).map(|row| row[column].width());
                cells.max().unwrap_or_default()
            })
            .collect();
        let mut text = String::new();
        for row in [&head].into_iter().chain(&self.rows) {
            let cells = row.iter().zip(&widths).zip(&self.figures);
            let cells: Vec<String> = cells
                .map(|((cell, width), is_figure)| padded(cell, *width, *is_figure))
                .collect();
            text += cells.join("  ").trim_end();
            text.push('\n');
        }
        text
    }
}

/// A text that fills a width, at the right edge if it is a figure.
fn padded(text: &str, width: usize, is_figure: bool) -> String {
    let space = " ".repeat(width.saturating_sub(text.width()));
    match is_figure {
        true => space + text,
        false => text.to_owned() + &space,
    }
}

/// The beginning of a text that is at most so wide, with a mark if it is not all of it.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut beginning = String::new();
    for character in text.chars() {
        beginning.push(character);
        if beginning.width() >= width {
            beginning.pop();
            break;
        }
    }
    beginning + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_columns_in_any_script_and_obey_nobody() {
        let mut table = Table::new(&["ROOM", "#PEOPLE"]);
        table.row(["lobby".to_owned(), "12".to_owned()]);
        table.row(["会议室".to_owned(), "3".to_owned()]);
        table.row(["\u{1b}[2J\u{202e}x".to_owned(), "1".to_owned()]);
        let expected = "ROOM                PEOPLE\n\
                        lobby                   12\n\
                        会议室                   3\n\
                        \\u{1b}[2J\\u{202e}x       1\n";
        assert_eq!(table.text(), expected);
    }

    #[test]
    fn tables_cut_long_cells() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("会议室会议室", 6), "会议…");
        let mut table = Table::new(&["ROOM"]);
        table.row(["x".repeat(10_000)]);
        assert!(table.text().lines().all(|line| line.width() <= CELL_MAX));
    }
}
