//! Bars beside each other, as SVG: medians, and lines from least to greatest.

use std::fmt::Write as _;

use drawing::svg::{begin, text};

use crate::Spread;
use crate::page::wrap;

/// Panels in a row, each with an axis of its own.
pub struct Drawing {
    /// Above all of it.
    pub title: String,
    /// From left to right.
    pub panels: Vec<Panel>,
}

/// One figure under all loads.
pub struct Panel {
    /// Its name, with its unit.
    pub label: String,
    /// The loads.
    pub groups: Vec<Group>,
}

/// One load.
pub struct Group {
    /// Its name.
    pub label: String,
    /// The servers.
    pub bars: Vec<Bar>,
}

/// One server.
pub struct Bar {
    /// Its name.
    pub name: String,
    /// How high.
    pub spread: Spread,
}

const PANEL_WIDTH: f64 = 320.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 40.0;
/// From one line of text to the next.
const LINE: f64 = 11.0;
/// Approximate width of a letter.
const LETTER: f64 = 6.0;
const COLOURS: [&str; 6] = ["#1b6ca8", "#d1495b", "#8a8a8a", "#edae49", "#3a7d44", "#7d5ba6"];

impl Drawing {
    /// A whole SVG file.
    pub fn svg(&self) -> String {
        let width = PANEL_WIDTH * self.panels.len() as f64;
        let mut svg = begin(width, HEIGHT);
        text(&mut svg, (width / 2.0, 18.0), "middle", &self.title);
        let names = self.names();
        for (place, name) in names.iter().enumerate() {
            let x = LEFT + 110.0 * place as f64;
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"26\" width=\"10\" height=\"10\" fill=\"{}\"/>",
                colour(place)
            );
            text(&mut svg, (x + 15.0, 35.0), "start", name);
        }
        for (place, panel) in self.panels.iter().enumerate() {
            panel.draw(&mut svg, PANEL_WIDTH * place as f64, &names);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// All servers, in the order of their first appearance.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let bars = self
            .panels
            .iter()
            .flat_map(|panel| &panel.groups)
            .flat_map(|group| &group.bars);
        for bar in bars {
            if !names.contains(&bar.name) {
                names.push(bar.name.clone());
            }
        }
        names
    }
}

impl Panel {
    fn draw(&self, svg: &mut String, left: f64, names: &[String]) {
        let top = self.top();
        // A difference of two figures may be negative; the axis is not.
        let y = |value: f64| HEIGHT - BOTTOM - value.max(0.0) / top * (HEIGHT - BOTTOM - TOP);
        let (from, to) = (left + LEFT, left + PANEL_WIDTH - 8.0);
        for step in 0..=4 {
            let value = top * f64::from(step) / 4.0;
            let _ = writeln!(svg, "<path d=\"M{from} {0:.1}H{to}\" stroke=\"#ddd\"/>", y(value));
            text(svg, (from - 5.0, y(value) + 4.0), "end", &short(value));
        }
        text(svg, ((from + to) / 2.0, TOP - 8.0), "middle", &self.label);
        let room = (to - from) / self.groups.len().max(1) as f64;
        for (place, group) in self.groups.iter().enumerate() {
            let start = from + room * place as f64;
            for (line, words) in wrapped(&group.label, room).iter().enumerate() {
                let under = HEIGHT - BOTTOM + 14.0 + LINE * line as f64;
                text(svg, (start + room / 2.0, under), "middle", words);
            }
            let width = room * 0.8 / names.len().max(1) as f64;
            for bar in &group.bars {
                let place = names.iter().position(|name| *name == bar.name).unwrap_or(0);
                let (x, spread) = (start + room * 0.1 + width * place as f64, bar.spread);
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>",
                    y(spread.median),
                    width * 0.9,
                    HEIGHT - BOTTOM - y(spread.median),
                    colour(place)
                );
                let middle = x + width * 0.45;
                let _ = writeln!(
                    svg,
                    "<path d=\"M{middle:.1} {:.1}V{:.1}\" stroke=\"black\"/>",
                    y(spread.least),
                    y(spread.greatest)
                );
            }
        }
    }

    /// A round number above everything.
    fn top(&self) -> f64 {
        let bars = self.groups.iter().flat_map(|group| &group.bars);
        let greatest = bars.map(|bar| bar.spread.greatest).fold(0.0, f64::max).max(1e-9);
        let decade = 10f64.powf(greatest.log10().floor());
        let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0];
        steps
            .iter()
            .map(|step| step * decade)
            .find(|&top| top >= greatest)
            .unwrap_or(greatest)
    }
}

/// A label in as many lines as it takes to be no wider than `room`, as far as its words allow.
fn wrapped(label: &str, room: f64) -> Vec<String> {
    wrap(label.split(' '), |letters| letters as f64 * LETTER <= room)
}

fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}

fn short(value: f64) -> String {
    if value >= 1e6 {
        format!("{:.1}M", value / 1e6)
    } else if value >= 1e4 {
        format!("{:.0}k", value / 1e3)
    } else if value >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{}", (value * 100.0).round() / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_as_wide_as_there_is_room() {
        assert_eq!(wrapped("audio 10 to 300", 43.0), ["audio", "10 to", "300"]);
        assert_eq!(wrapped("audio 10 to 300", 100.0), ["audio 10 to 300"]);
        assert_eq!(wrapped("rooms", 10.0), ["rooms"]);
    }

    #[test]
    fn negative_values_are_drawn_at_zero() {
        let spread = Spread::of([-0.9, -0.6, 0.1]).expect("values");
        let bar = |spread| Bar {
            name: "a".into(),
            spread,
        };
        let group = |spread| Group {
            label: "1x50".into(),
            bars: vec![bar(spread)],
        };
        let panel = Panel {
            label: "us".into(),
            groups: vec![group(spread), group(Spread::of([4.0]).expect("values"))],
        };
        let drawing = Drawing {
            title: "t".into(),
            panels: vec![panel],
        };
        assert!(drawing.svg().contains("height=\"0.0\""), "{}", drawing.svg());
    }

    #[test]
    fn every_bar_is_drawn_under_an_axis_that_holds_it() {
        let bar = |name: &str, value: f64| Bar {
            name: name.into(),
            spread: Spread::of([value, value * 1.1, value * 0.9]).expect("values"),
        };
        let panel = Panel {
            label: "us".into(),
            groups: vec![Group {
                label: "1x50".into(),
                bars: vec![bar("a", 1.5), bar("b", 12.0)],
            }],
        };
        assert!(panel.top() >= 13.2 && panel.top() <= 16.0, "{}", panel.top());
        let drawing = Drawing {
            title: "t".into(),
            panels: vec![panel],
        };
        assert_eq!(drawing.names(), ["a", "b"]);
        // The background, the legend's two and the bars.
        assert_eq!(drawing.svg().matches("<rect").count(), 5);
    }
}
