//! Charts with two logarithmic axes, as SVG.

use std::fmt::Write;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 48.0;
const COLOURS: [&str; 4] = ["#1f6fb4", "#c0392b", "#2e8b57", "#8e5ea2"];

/// One chart.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Above it.
    pub title: String,
    /// Under the horizontal axis.
    pub x_label: &'static str,
    /// At most four.
    pub lines: Vec<Line>,
}

/// Points joined by a line.
#[derive(Clone, Debug)]
pub struct Line {
    /// In the legend.
    pub label: String,
    /// From left to right, all coordinates positive.
    pub points: Vec<(f64, f64)>,
}

/// Whole decades, as powers of ten.
#[derive(Clone, Copy, Debug)]
struct Decades {
    from: i32,
    to: i32,
}

impl Decades {
    fn around(values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values.fold((f64::MAX, f64::MIN), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        let from = least.log10().floor() as i32;
        Decades {
            from,
            to: (most.log10().ceil() as i32).max(from + 1),
        }
    }

    fn part(self, value: f64) -> f64 {
        (value.log10() - f64::from(self.from)) / f64::from(self.to - self.from)
    }
}

/// The panels side by side, as a whole SVG file.
pub fn svg(panels: &[Panel]) -> String {
    let width = WIDTH * panels.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    for (place, panel) in panels.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate({} 0)\">", place as f64 * WIDTH);
        panel.draw(&mut svg);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

impl Panel {
    fn draw(&self, svg: &mut String) {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let across = Decades::around(points().map(|point| point.0));
        let up = Decades::around(points().map(|point| point.1));
        let x_of = |x: f64| LEFT + across.part(x) * (WIDTH - LEFT - RIGHT);
        let y_of = |y: f64| HEIGHT - BOTTOM - up.part(y) * (HEIGHT - TOP - BOTTOM);
        text(svg, (WIDTH / 2.0, 20.0), "middle", &self.title);
        text(svg, (WIDTH / 2.0, HEIGHT - 10.0), "middle", self.x_label);
        let (end, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for power in across.from..=across.to {
            let x = x_of(10_f64.powi(power));
            let _ = writeln!(svg, "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/>");
            text(svg, (x, bottom + 16.0), "middle", &decade(power));
        }
        for power in up.from..=up.to {
            let y = y_of(10_f64.powi(power));
            let _ = writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{end}\" stroke=\"#ddd\"/>");
            text(svg, (LEFT - 6.0, y + 4.0), "end", &decade(power));
        }
        for ((line, colour), place) in self.lines.iter().zip(COLOURS).zip(1_u8..) {
            let points = line.points.iter().map(|(x, y)| (x_of(*x), y_of(*y)));
            draw_line(svg, points, colour);
            let level = TOP + 16.0 * f64::from(place);
            let _ = writeln!(
                svg,
                "<path d=\"M{} {}h20\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                LEFT + 10.0,
                level - 4.0
            );
            text(svg, (LEFT + 36.0, level), "start", &line.label);
        }
    }
}

fn draw_line(svg: &mut String, points: impl Iterator<Item = (f64, f64)>, colour: &str) {
    let mut path = String::new();
    for (x, y) in points {
        let _ = write!(path, "{x:.1},{y:.1} ");
        let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
    }
    let _ = writeln!(
        svg,
        "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
    );
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}

fn decade(power: i32) -> String {
    let unit = ["", "k", "M", "G", "T"];
    match usize::try_from(power)
        .ok()
        .and_then(|power| Some((power % 3, unit.get(power / 3)?)))
    {
        Some((zeros, unit)) => format!("1{}{unit}", "0".repeat(zeros)),
        None => format!("1e{power}"),
    }
}
