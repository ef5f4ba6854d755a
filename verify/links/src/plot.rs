//! Plots of traces, as SVG a browser and a repository page can show.

use std::fmt::Write;

use crate::Trace;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const RATES: Panel = Panel {
    top: 46.0,
    height: 200.0,
};
const QUEUES: Panel = Panel {
    top: 284.0,
    height: 80.0,
};
const HEIGHT: f64 = 400.0;
/// The queue's scale ends here. Shape: milliseconds.
const QUEUE_TOP: f64 = 600.0;
/// Readable on white and on black, and with any colour vision.
const COLOURS: [&str; 4] = ["#2a78d6", "#e8702a", "#3a9a6b", "#b04ac0"];
const CAPACITY: &str = "#8a8a8a";

#[derive(Clone, Copy)]
struct Panel {
    top: f64,
    height: f64,
}

/// A line over time: seconds, value.
struct Line<'a> {
    colour: &'a str,
    points: Vec<(f64, f64)>,
}

/// Estimates over capacity, and the queue below, of one scenario with one or more estimators.
///
/// Each trace is named; where it has two flows both are drawn.
pub fn draw(title: &str, traces: &[(&str, &Trace)]) -> String {
    let seconds = traces
        .iter()
        .filter_map(|(_, trace)| trace.samples.last())
        .map(|last| last.at.as_secs_f64());
    let seconds = seconds.fold(1.0, f64::max);
    let available = traces
        .iter()
        .flat_map(|(_, trace)| &trace.samples)
        .map(|sample| sample.available / 1e6);
    let rate_top = round_top(available.fold(0.1, f64::max) * 1.2);

    let mut svg = header(title);
    axis(&mut svg, RATES, rate_top, "Mbit/s");
    axis(&mut svg, QUEUES, QUEUE_TOP, "queue, ms");
    time_axis(&mut svg, seconds);
    let capacity = traces.first().map_or(Vec::new(), |(_, trace)| {
        over_time(trace, |sample| sample.available / 1e6)
    });
    line(
        &mut svg,
        RATES,
        seconds,
        rate_top,
        &Line {
            colour: CAPACITY,
            points: capacity,
        },
    );
    let mut names = vec![("capacity".to_owned(), CAPACITY)];
    let mut colours = COLOURS.iter();
    for (name, trace) in traces {
        let flows = trace.samples.first().map_or(0, |sample| sample.flows.len());
        for flow in 0..flows {
            let colour = colours.next().copied().unwrap_or(CAPACITY);
            let points = over_time(trace, |sample| sample.flows[flow].target() / 1e6);
            line(&mut svg, RATES, seconds, rate_top, &Line { colour, points });
            names.push((
                if flows > 1 {
                    format!("{name}, flow {}", flow + 1)
                } else {
                    (*name).to_owned()
                },
                colour,
            ));
            if flow == 0 {
                let points = over_time(trace, |sample| sample.queue.as_secs_f64() * 1e3);
                line(&mut svg, QUEUES, seconds, QUEUE_TOP, &Line { colour, points });
            }
        }
    }
    legend(&mut svg, &names);
    svg.push_str("</svg>\n");
    svg
}

/// The least scale that ends at or above `value` and whose quarters are round.
fn round_top(value: f64) -> f64 {
    let quarters = [0.1, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0];
    let top = quarters
        .into_iter()
        .map(|quarter| 4.0 * quarter)
        .find(|top| *top >= value);
    top.unwrap_or(value)
}

fn over_time(trace: &Trace, value: impl Fn(&crate::Sample) -> f64) -> Vec<(f64, f64)> {
    let point = |sample: &crate::Sample| (sample.at.as_secs_f64(), value(sample));
    trace.samples.iter().step_by(2).map(point).collect()
}

fn header(title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"15\" fill=\"#222222\">{title}</text>\n"
    )
}

fn axis(svg: &mut String, panel: Panel, top: f64, unit: &str) {
    for part in 0..=4 {
        let value = top * f64::from(part) / 4.0;
        let y = panel.y(value, top);
        let text = if top < 20.0 {
            format!("{value:.1}")
        } else {
            format!("{value:.0}")
        };
        let (end, label) = (WIDTH - RIGHT, LEFT - 8.0);
        put(
            svg,
            format!("<line x1=\"{LEFT}\" x2=\"{end}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#e4e4e4\"/>"),
        );
        let y = y + 4.0;
        put(
            svg,
            format!("<text x=\"{label}\" y=\"{y:.1}\" text-anchor=\"end\" fill=\"#555555\">{text}</text>"),
        );
    }
    let y = panel.top - 6.0;
    put(
        svg,
        format!("<text x=\"{LEFT}\" y=\"{y}\" fill=\"#555555\">{unit}</text>"),
    );
}

fn time_axis(svg: &mut String, seconds: f64) {
    let y = QUEUES.top + QUEUES.height + 18.0;
    for second in (0..=seconds as u32).step_by(10) {
        let x = across(f64::from(second), seconds);
        put(
            svg,
            format!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\" fill=\"#555555\">{second} s</text>"),
        );
    }
}

fn line(svg: &mut String, panel: Panel, seconds: f64, top: f64, line: &Line<'_>) {
    let mut points = String::new();
    for (second, value) in &line.points {
        let _ = write!(points, "{:.1},{:.1} ", across(*second, seconds), panel.y(*value, top));
    }
    let colour = line.colour;
    put(
        svg,
        format!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\"{}\"/>",
            points.trim_end()
        ),
    );
}

fn legend(svg: &mut String, names: &[(String, &str)]) {
    let mut x = LEFT + 60.0;
    for (name, colour) in names {
        let (end, text, y) = (x + 18.0, x + 24.0, RATES.top - 10.0);
        put(
            svg,
            format!("<line x1=\"{x}\" x2=\"{end}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"3\"/>"),
        );
        let y = y + 4.0;
        put(
            svg,
            format!("<text x=\"{text}\" y=\"{y}\" fill=\"#222222\">{name}</text>"),
        );
        x += 46.0 + 7.0 * name.len() as f64;
    }
}

fn put(svg: &mut String, element: String) {
    svg.push_str(&element);
    svg.push('\n');
}

fn across(second: f64, seconds: f64) -> f64 {
    LEFT + second / seconds * (WIDTH - LEFT - RIGHT)
}

impl Panel {
    /// Values beyond the top are drawn at it.
    fn y(self, value: f64, top: f64) -> f64 {
        self.top + self.height * (1.0 - (value / top).clamp(0.0, 1.0))
    }
}
