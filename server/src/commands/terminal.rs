//! Text for a terminal: names that participants chose are shown and never obeyed.

use std::fmt::Write as _;

/// A text in which nothing steers the terminal or changes the order of what is read. Control
/// characters, marks of direction and characters without a width are written as in `\u{202e}`, and
/// a backslash as `\\`.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            hidden if is_hidden(hidden) => {
                write!(escaped, "\\u{{{:x}}}", u32::from(hidden)).expect("writing to a string does not fail");
            }
            shown => escaped.push(shown),
        }
    }
    escaped
}

/// Whether a character is not seen, or changes what is seen of others: controls (Cc), formats (Cf),
/// separators of lines, fillers, selectors of variants, tags and private characters.
///
/// Source: Unicode 16.0, DerivedGeneralCategory.txt and DerivedCoreProperties.txt
/// (Default_Ignorable_Code_Point).
fn is_hidden(character: char) -> bool {
    let ranges = [
        '\u{ad}'..='\u{ad}',
        '\u{34f}'..='\u{34f}',
        '\u{600}'..='\u{605}',
        '\u{61c}'..='\u{61c}',
        '\u{6dd}'..='\u{6dd}',
        '\u{70f}'..='\u{70f}',
        '\u{890}'..='\u{891}',
        '\u{8e2}'..='\u{8e2}',
        '\u{115f}'..='\u{1160}',
        '\u{17b4}'..='\u{17b5}',
        '\u{180b}'..='\u{180f}',
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{3164}'..='\u{3164}',
        '\u{e000}'..='\u{f8ff}',
        '\u{fe00}'..='\u{fe0f}',
        '\u{feff}'..='\u{feff}',
        '\u{ffa0}'..='\u{ffa0}',
        '\u{fff0}'..='\u{fffb}',
        '\u{110bd}'..='\u{110bd}',
        '\u{110cd}'..='\u{110cd}',
        '\u{13430}'..='\u{1343f}',
        '\u{1bca0}'..='\u{1bca3}',
        '\u{1d173}'..='\u{1d17a}',
        '\u{e0000}'..='\u{10ffff}',
    ];
    character.is_control() || ranges.iter().any(|range| range.contains(&character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_shows_names_as_they_are_and_obeys_none() {
        for (name, shown) in [
            ("Ada Lovelace", "Ada Lovelace"),
            ("Zoë 张伟 \u{05d3}\u{05d5}\u{05d3}", "Zoë 张伟 \u{05d3}\u{05d5}\u{05d3}"),
            ("<b>&amp;", "<b>&amp;"),
            ("\u{1b}[2J\u{7}", "\\u{1b}[2J\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("evil\u{202e}nip", "evil\\u{202e}nip"),
            (
                "\u{2066}x\u{2069}\u{200f}\u{61c}",
                "\\u{2066}x\\u{2069}\\u{200f}\\u{61c}",
            ),
            ("a\u{200b}da\u{feff}\u{e0041}", "a\\u{200b}da\\u{feff}\\u{e0041}"),
            ("\\u{202e}", "\\\\u{202e}"),
        ] {
            assert_eq!(escaped(name), shown);
        }
    }
}
