//! Line charts as SVG.

use std::fmt::Write;

use crate::spread::Spread;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;

/// A chart of percentages against percentages. Shares of one go in.
#[derive(Debug)]
pub struct Chart {
    /// Above the chart.
    pub title: String,
    /// Under the horizontal axis.
    pub x_label: &'static str,
    /// Beside the vertical axis.
    pub y_label: &'static str,
    /// End of the horizontal axis.
    pub x_max: f64,
    /// End of the vertical axis; lines are cut off there.
    pub y_max: f64,
    /// The lines.
    pub lines: Vec<Line>,
    /// Single points, as circles.
    pub points: Vec<(f64, f64)>,
    /// Legend of the circles.
    pub points_label: &'static str,
}

/// Medians joined by a line, with a band from least to greatest.
#[derive(Debug)]
pub struct Line {
    /// In the legend.
    pub label: &'static str,
    /// A CSS colour.
    pub colour: &'static str,
    /// Drawn with dashes.
    pub dashed: bool,
    /// From left to right.
    pub values: Vec<(f64, Spread)>,
}

impl Chart {
    /// The chart as a whole SVG file.
    pub fn svg(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
             <clipPath id=\"area\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/></clipPath>\n",
            WIDTH - LEFT - RIGHT,
            HEIGHT - TOP - BOTTOM,
        );
        text(&mut svg, (WIDTH / 2.0, 22.0), "middle", &self.title);
        self.axes(&mut svg);
        self.lines.iter().for_each(|line| self.line(&mut svg, line));
        for point in &self.points {
            let (x, y) = self.at(*point);
            element(
                &mut svg,
                &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"white\" stroke=\"black\"/>"),
            );
        }
        self.legend(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let across = LEFT + x / self.x_max * (WIDTH - LEFT - RIGHT);
        (across, HEIGHT - BOTTOM - y / self.y_max * (HEIGHT - TOP - BOTTOM))
    }

    fn axes(&self, svg: &mut String) {
        for step in 0..=5 {
            let part = f64::from(step) / 5.0;
            let (x, y) = self.at((part * self.x_max, part * self.y_max));
            let (end, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
            element(
                svg,
                &format!("<path d=\"M{LEFT} {y:.1}H{end}M{x:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/>"),
            );
            text(
                svg,
                (x, bottom + 18.0),
                "middle",
                &format!("{:.0}", part * self.x_max * 100.0),
            );
            text(
                svg,
                (LEFT - 8.0, y + 4.0),
                "end",
                &format!("{:.0}", part * self.y_max * 100.0),
            );
        }
        text(svg, (WIDTH / 2.0, HEIGHT - 12.0), "middle", self.x_label);
        let (x, y) = (18.0, HEIGHT / 2.0);
        let turned = format!(
            "<text x=\"{x}\" y=\"{y}\" transform=\"rotate(-90 {x} {y})\" text-anchor=\"middle\">{}</text>",
            self.y_label
        );
        element(svg, &turned);
    }

    fn line(&self, svg: &mut String, line: &Line) {
        let path = |values: &mut dyn Iterator<Item = (f64, f64)>| {
            values.fold(String::new(), |mut path, value| {
                let (x, y) = self.at(value);
                let _ = write!(path, "{x:.1},{y:.1} ");
                path
            })
        };
        let least = line.values.iter().map(|(x, spread)| (*x, spread.least));
        let greatest = line.values.iter().rev().map(|(x, spread)| (*x, spread.greatest));
        let band = path(&mut least.chain(greatest));
        let median = path(&mut line.values.iter().map(|(x, spread)| (*x, spread.median)));
        let colour = line.colour;
        element(
            svg,
            &format!("<polygon points=\"{band}\" fill=\"{colour}\" opacity=\"0.2\" clip-path=\"url(#area)\"/>"),
        );
        let stroke = format!(
            "fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{} clip-path=\"url(#area)\"",
            dashes(line)
        );
        element(svg, &format!("<polyline points=\"{median}\" {stroke}/>"));
    }

    fn legend(&self, svg: &mut String) {
        let (x, mut y) = (LEFT + 150.0, TOP + 16.0);
        for line in &self.lines {
            let (from, level, colour) = (x, y - 4.0, line.colour);
            let stroke = format!("stroke=\"{colour}\" stroke-width=\"2\"{}", dashes(line));
            element(svg, &format!("<path d=\"M{from} {level}h24\" {stroke}/>"));
            text(svg, (x + 32.0, y), "start", line.label);
            y += 18.0;
        }
        if !self.points.is_empty() {
            let (cx, cy) = (x + 12.0, y - 4.0);
            element(
                svg,
                &format!("<circle cx=\"{cx}\" cy=\"{cy}\" r=\"5\" fill=\"white\" stroke=\"black\"/>"),
            );
            text(svg, (x + 32.0, y), "start", self.points_label);
        }
    }
}

fn dashes(line: &Line) -> &'static str {
    if line.dashed { " stroke-dasharray=\"6 4\"" } else { "" }
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    element(
        svg,
        &format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"),
    );
}

fn element(svg: &mut String, element: &str) {
    svg.push_str(element);
    svg.push('\n');
}
