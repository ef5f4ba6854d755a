//! Writes an experiment's results into the page.

use std::path::Path;

use harness::page;

use super::experiment::Experiment;
use super::targets::Targets;

/// The results of an experiment.
pub(crate) struct Section {
    /// Conditions and tables, as Markdown.
    pub text: String,
    /// The drawing, as SVG.
    pub drawing: String,
    /// All runs, as comma-separated values.
    pub runs: String,
    /// Whether everything could be measured.
    pub complete: bool,
}

/// The heading under which sections are added.
const HEADING: &str = "## Beside other servers\n";

impl Section {
    /// The page with this section in place of the experiment's last one, or after the others.
    pub(crate) fn put_into(&self, text: &str, experiment: &Experiment, page: &Path) -> String {
        let (begin, end) = (marker("", experiment), marker("/", experiment));
        let folder = page.file_stem().unwrap_or_default().to_string_lossy();
        let (name, title) = (experiment.name, experiment.title());
        let body = format!(
            "{begin}\n### {title}\n\n{}\n![{title}]({folder}/{name}.svg)\n\n[All runs]({folder}/{name}.csv)\n{end}\n",
            self.text
        );
        let old = text.find(&begin).zip(text.find(&end).map(|at| at + end.len() + 1));
        if let Some((from, to)) = old.filter(|(from, to)| from < to) {
            return format!("{}{body}{}", &text[..from], text.get(to..).unwrap_or_default());
        }
        let Some(heading) = text.find(HEADING) else {
            return format!("{text}\n{HEADING}\n{body}");
        };
        let behind = heading + HEADING.len();
        let at = text[behind..].find("\n## ").map_or(text.len(), |next| behind + next);
        format!(
            "{}\n{body}{}",
            text[..at].trim_end_matches('\n').to_owned() + "\n",
            &text[at..]
        )
    }
}

fn marker(slash: &str, experiment: &Experiment) -> String {
    format!("<!-- {slash}compare: {} -->", experiment.name)
}

/// The machine, the versions, how often and how long.
pub(crate) fn conditions(targets: &Targets, experiment: &Experiment, how: &str) -> String {
    let mut sentences = vec![format!("{how}. {}.", targets.machine.join("; "))];
    if experiment.is_awake {
        sentences.push("No processor sleeps: a wake-up latency of 0 us is held, for all alike.".to_owned());
        sentences.push("Idle is what the kernel spends waiting.".to_owned());
    }
    sentences.push(format!("{}.", targets.versions().collect::<Vec<_>>().join("; ")));
    sentences.extend(targets.missing.iter().map(|line| format!("{line}.")));
    page::paragraph(&sentences.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> Section {
        Section {
            text: text.into(),
            drawing: String::new(),
            runs: String::new(),
            complete: true,
        }
    }

    #[test]
    fn a_section_is_added_under_its_heading_and_then_replaced() {
        let video = Experiment::named("video").expect("there is one");
        let audio = Experiment::named("audio").expect("there is one");
        let page = Path::new("docs/measured/performance.md");
        let empty = format!("# Title\n\n{HEADING}\n## Next\n\nrest\n");
        let once = section("first").put_into(&empty, video, page);
        let twice = section("third").put_into(&once, audio, page);
        let again = section("second").put_into(&twice, video, page);
        assert!(
            once.contains("first") && !again.contains("first") && again.contains("second"),
            "{again}"
        );
        let places = [HEADING, "second", "third", "## Next\n\nrest\n"].map(|what| again.find(what).expect(what));
        assert!(places.is_sorted(), "{again}");
        assert_eq!(section("second").put_into(&again, video, page), again);
        assert!(again.contains("(performance/video.svg)"), "{again}");
    }
}
