//! Comma-separated values.

/// A line of a table, with its end. Cells are quoted where they must be.
///
/// Source: RFC 4180 section 2.
pub fn line<T: AsRef<[u8]>>(cells: &[T]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(cells).expect("memory takes it");
    let bytes = writer.into_inner().expect("memory takes it");
    String::from_utf8(bytes).expect("cells are text")
}

/// The rows of a table; unreadable ones are skipped.
pub fn rows(text: &str) -> impl Iterator<Item = Vec<String>> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).flexible(true).from_reader(text.as_bytes());
    let records = reader.into_records().flatten();
    records.map(|record| record.iter().map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_and_quotes_are_quoted() {
        assert_eq!(line(&["a, \"b\"", "plain", ""]), "\"a, \"\"b\"\"\",plain,\n");
        let cells = ["a, \"b\"", "plain"];
        assert_eq!(rows(&line(&cells)).collect::<Vec<_>>(), [cells]);
    }
}
