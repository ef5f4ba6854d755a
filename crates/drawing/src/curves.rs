//! Curves, panel beside panel, as SVG.

use std::fmt::Write as _;

use crate::svg::{begin, text};

/// Panels in a row.
pub struct Drawing {
    /// Above all of it.
    pub title: String,
    /// From left to right.
    pub panels: Vec<Panel>,
}

/// Curves over one axis.
pub struct Panel {
    /// Below the horizontal axis: its name, with its unit.
    pub across: String,
    /// Above the panel: the name of the vertical axis, with its unit.
    pub up: String,
    /// How values lie on the axes.
    pub scale: Scale,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// How values lie on the axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart on the horizontal axis; values have to be positive.
    Logarithmic,
    /// The same on both axes.
    BothLogarithmic,
}

/// Points joined by a line.
pub struct Curve {
    /// Its name; curves of the same name have the same colour in every panel.
    pub name: String,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
}

const PANEL_WIDTH: f64 = 320.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 44.0;
const RIGHT: f64 = 12.0;
/// The least space between names.
const APART_MIN: f64 = 4.0;
const COLOURS: [&str; 7] = [
    "#1b6ca8", "#d1495b", "#3a7d44", "#edae49", "#8a8a8a", "#7d5ba6", "#1aa6a6",
];

impl Drawing {
    /// A whole SVG file.
    pub fn svg(&self) -> String {
        let names = self.names();
        let taken: f64 = names.iter().map(|name| legend_width(name)).sum();
        let legend = LEFT + taken + APART_MIN * names.len() as f64;
        let width = f64::max(PANEL_WIDTH * self.panels.len() as f64, legend.ceil());
        let mut svg = begin(width, HEIGHT);
        text(&mut svg, (width / 2.0, 18.0), "middle", &self.title);
        let apart = f64::clamp((width - LEFT - taken) / names.len() as f64, APART_MIN, 24.0);
        let mut x = LEFT;
        for (place, name) in names.iter().enumerate() {
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} 31h14\" stroke=\"{}\" stroke-width=\"2\"/>",
                colour(place)
            );
            text(&mut svg, (x + 19.0, 35.0), "start", name);
            x += legend_width(name) + apart;
        }
        for (place, panel) in self.panels.iter().enumerate() {
            let _ = writeln!(svg, "<g transform=\"translate({} 0)\">", PANEL_WIDTH * place as f64);
            panel.draw(&mut svg, &names);
            svg.push_str("</g>\n");
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// All names, in the order of their first appearance.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for curve in self.panels.iter().flat_map(|panel| &panel.curves) {
            if !names.contains(&curve.name) {
                names.push(curve.name.clone());
            }
        }
        names
    }
}

impl Panel {
    fn draw(&self, svg: &mut String, names: &[String]) {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let across = Axis::around(self.scale, points().map(|point| point.0));
        let rise = match self.scale {
            Scale::Linear | Scale::Logarithmic => Scale::Linear,
            Scale::BothLogarithmic => Scale::BothLogarithmic,
        };
        let up = Axis::around(rise, points().map(|point| point.1));
        let (end, bottom) = (PANEL_WIDTH - RIGHT, HEIGHT - BOTTOM);
        let at = |(x, y): (f64, f64)| {
            (
                LEFT + across.part(x) * (end - LEFT),
                bottom - up.part(y) * (bottom - TOP),
            )
        };
        for value in across.marks() {
            let x = LEFT + across.part(value) * (end - LEFT);
            let _ = writeln!(svg, "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/>");
            text(svg, (x, bottom + 14.0), "middle", &short(value));
        }
        for value in up.marks() {
            let y = bottom - up.part(value) * (bottom - TOP);
            let _ = writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{end}\" stroke=\"#ddd\"/>");
            text(svg, (LEFT - 5.0, y + 4.0), "end", &short(value));
        }
        let middle = (LEFT + end) / 2.0;
        text(svg, (middle, HEIGHT - 10.0), "middle", &self.across);
        text(svg, (middle, TOP - 8.0), "middle", &self.up);
        for curve in &self.curves {
            let place = names.iter().position(|name| *name == curve.name).unwrap_or(0);
            draw_curve(svg, curve.points.iter().map(|&point| at(point)), colour(place));
        }
    }
}

/// Width of a name with its line, for letters of common width.
fn legend_width(name: &str) -> f64 {
    19.0 + 5.6 * name.chars().count() as f64
}

fn draw_curve(svg: &mut String, points: impl Iterator<Item = (f64, f64)>, colour: &str) {
    let path = points.fold(String::new(), |mut path, (x, y)| {
        let _ = write!(path, "{x:.1},{y:.1} ");
        path
    });
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
        path.trim_end()
    );
}

/// An axis with round ends.
struct Axis {
    scale: Scale,
    from: f64,
    to: f64,
}

/// A smaller value is a rounding error of a sum, and is drawn as zero.
const NOTHING: f64 = 1e-6;

/// The most decades of a logarithmic axis: values below the millionth part of the largest are drawn
/// at its start.
const DECADES_MAX: i32 = 6;

/// The same where both axes are logarithmic.
const BOTH_DECADES_MAX: i32 = 8;

impl Axis {
    /// Around all values; a linear one begins at zero, a logarithmic one at the least that is
    /// above.
    fn around(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values
            .filter(|value| *value > NOTHING)
            .fold((f64::MAX, 0.0f64), |(least, most), value| {
                (least.min(value), most.max(value))
            });
        // All values are zero, so any axis will do.
        let most = if most > 0.0 { most } else { 1.0 };
        match scale {
            Scale::Linear => Self {
                scale,
                from: 0.0,
                to: round_above(most),
            },
            Scale::Logarithmic | Scale::BothLogarithmic => {
                let to = 10f64.powf(most.log10().ceil());
                let from = 10f64.powf(least.min(most).log10().floor());
                let decades = if scale == Scale::BothLogarithmic {
                    BOTH_DECADES_MAX
                } else {
                    DECADES_MAX
                };
                let from = from.max(to / 10f64.powi(decades));
                Self {
                    scale,
                    from,
                    to: to.max(from * 10.0),
                }
            }
        }
    }

    /// Position of a value on the axis, 0 to 1; values beyond the ends are placed at the ends.
    fn part(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Logarithmic | Scale::BothLogarithmic => {
                (value.max(self.from) / self.from).log10() / (self.to / self.from).log10()
            }
        };
        part.clamp(0.0, 1.0)
    }

    fn marks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => (0..=4).map(|step| self.to * f64::from(step) / 4.0).collect(),
            Scale::Logarithmic | Scale::BothLogarithmic => {
                let decades = (self.to / self.from).log10().round() as i32;
                (0..=decades).map(|power| self.from * 10f64.powi(power)).collect()
            }
        }
    }
}

/// The next number above that a quarter of reads well.
fn round_above(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0];
    steps
        .iter()
        .map(|step| step * decade)
        .find(|&top| top >= value * 0.999_999)
        .unwrap_or(10.0 * decade)
}

fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}

fn short(value: f64) -> String {
    if value >= 1e6 {
        format!("{}M", value / 1e6)
    } else if value >= 1e4 {
        format!("{}k", value / 1e3)
    } else {
        format!("{}", (value * 1000.0).round() / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_holds_its_values_and_ends_at_round_numbers() {
        let linear = Axis::around(Scale::Linear, [3.0, 17.0].into_iter());
        assert_eq!((linear.from, linear.to), (0.0, 20.0));
        assert!((linear.part(5.0) - 0.25).abs() < 1e-9);
        let logarithmic = Axis::around(Scale::Logarithmic, [12.0, 4500.0].into_iter());
        assert!((logarithmic.from - 10.0).abs() < 1e-6 && (logarithmic.to - 10_000.0).abs() < 1e-6);
        assert!((logarithmic.part(100.0) - 1.0 / 3.0).abs() < 1e-6);
        assert_eq!(logarithmic.marks().len(), 4);
    }

    #[test]
    fn equal_values_and_none_at_all_are_drawn() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let flat = Axis::around(scale, [10.0, 10.0].into_iter());
            assert!((0.0..=1.0).contains(&flat.part(10.0)) && flat.to > flat.from);
            let none = Axis::around(scale, std::iter::empty());
            assert!(none.to > none.from && none.part(0.0) == 0.0);
        }
    }

    #[test]
    fn an_axis_can_be_read_however_small_the_least_is() {
        let axis = Axis::around(Scale::Logarithmic, [1e-8, 3e-5, 70.0].into_iter());
        assert_eq!(axis.marks().len(), 7, "from a ten-thousandth to a hundred");
        assert_eq!(axis.part(1e-8), 0.0);
        let nothing = Axis::around(Scale::Linear, [0.0, 1e-12].into_iter());
        assert_eq!(nothing.marks(), [0.0, 0.25, 0.5, 0.75, 1.0]);
    }

    #[test]
    fn a_name_has_one_colour_in_every_panel() {
        let curve = |name: &str| Curve {
            name: name.into(),
            points: vec![(1.0, 0.0), (2.0, 1.0)],
        };
        let panel = |names: &[&str]| Panel {
            across: "x".into(),
            up: "y".into(),
            scale: Scale::Linear,
            curves: names.iter().map(|name| curve(name)).collect(),
        };
        let drawing = Drawing {
            title: "t".into(),
            panels: vec![panel(&["a", "b"]), panel(&["b"])],
        };
        assert_eq!(drawing.names(), ["a", "b"]);
        assert_eq!(drawing.svg().matches(COLOURS[1]).count(), 3, "legend and both panels");
    }

    #[test]
    fn a_drawing_is_as_wide_as_its_legend() {
        let names = ["weir", "livekit", "janus", "weir-afxdp", "floor"];
        let curves = names.map(|name| Curve {
            name: name.into(),
            points: vec![(1.0, 0.0), (2.0, 1.0)],
        });
        let panel = Panel {
            across: "x".into(),
            up: "y".into(),
            scale: Scale::Linear,
            curves: curves.into(),
        };
        let drawing = Drawing {
            title: "t".into(),
            panels: vec![panel],
        };
        assert!(drawing.svg().contains("viewBox=\"0 0 341 300\""), "and not 320");
    }
}
