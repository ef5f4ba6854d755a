//! Parts of a page that a program writes.

/// Columns of a document.
const WIDTH: usize = 100;

/// The page with `body` between the markers of this name, in place of the old text; at the end if
/// there are no such markers yet.
pub fn put(page: &str, name: &str, body: &str) -> String {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->\n"));
    let part = format!("{begin}\n{body}{end}");
    let from = page.find(&begin);
    let to = page.find(&end).map(|at| at + end.len());
    match from.zip(to).filter(|(from, to)| from < to) {
        Some((from, to)) => format!("{}{part}{}", &page[..from], &page[to..]),
        None => format!("{}\n\n{part}", page.trim_end()),
    }
}

/// The text as a paragraph of lines of at most 100 characters, and an empty line after it.
pub fn paragraph(text: &str) -> String {
    wrap(text.split_whitespace(), |len| len <= WIDTH).join("\n") + "\n\n"
}

/// The text as an entry of a list, whose further lines are indented.
pub fn list_entry(text: &str) -> String {
    let lines = wrap(text.split_whitespace(), |len| len + "- ".len() <= WIDTH);
    format!("- {}\n", lines.join("\n  "))
}

/// The words in lines whose bytes fit, as far as single words do.
pub(crate) fn wrap<'a>(words: impl Iterator<Item = &'a str>, fits: impl Fn(usize) -> bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if fits(line.len() + 1 + word.len()) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_wrapped_between_words() {
        let long = "x".repeat(96);
        assert_eq!(paragraph(&format!("{long} abc\nd e")), format!("{long} abc\nd e\n\n"));
        assert_eq!(paragraph(&format!("{long} abcd")), format!("{long}\nabcd\n\n"));
        assert_eq!(paragraph(""), "\n\n");
        let entry = "y".repeat(94);
        assert_eq!(list_entry(&format!("{entry} abc")), format!("- {entry} abc\n"));
        assert_eq!(list_entry(&format!("{entry} abcd")), format!("- {entry}\n  abcd\n"));
    }

    #[test]
    fn a_part_is_added_once_and_then_replaced() {
        let once = put("# Title\n", "it: one", "first\n");
        assert_eq!(once, "# Title\n\n<!-- it: one -->\n\nfirst\n<!-- /it: one -->\n");
        let twice = put(&once, "it: two", "second\n");
        let again = put(&twice, "it: one", "third\n");
        assert!(!again.contains("first") && again.contains("third") && again.contains("second"));
        assert_eq!(put(&again, "it: one", "third\n"), again);
    }
}
