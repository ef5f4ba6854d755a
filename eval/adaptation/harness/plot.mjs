// Curves of one run as SVG that a browser and a repository page can show.

import { between, estimates, rateAt, senders, views } from "./curves.mjs";
import { stepName } from "./report.mjs";

const WIDTH = 860;
const LEFT = 62;
const RIGHT = 16;
const TOP = 62;
const GAP = 34;
const PANEL = 118;
/** Readable on white and on black, and with any colour vision. */
const COLOURS = ["#2a78d6", "#e8702a", "#3a9a6b", "#b04ac0"];
const GREY = "#8a8a8a";
const PALE = "#d8b400";

/** Bit rate, size and frame rate at the limited participant, and frame rates everywhere else. */
export function draw(record) {
  const all = views(record);
  const limited = all.filter((view) => view.limited);
  const others = all.filter((view) => !view.limited);
  const end = (record.steps.at(-1).to - record.steps[0].from) / 1000;
  const { height, fps } = record.experiment.video;
  const link = linkRate(record, end);
  const most = niceTop(
    Math.max(...[...limited.flatMap(({ bitrate }) => bitrate), ...link].map(([, rate]) => rate)) / 1e6,
  );
  const bits = {
    title: "Mbit/s of video at cyd, what the downlink carries, and what the server believes it does",
    top: most,
    lines: [
      { name: "downlink", colour: GREY, points: scaled(link, 1e6) },
      { name: "estimate", colour: PALE, points: scaled(estimates(record), 1e6).map(below(most)) },
      ...limited.map((view, index) => named(view, index, scaled(view.bitrate, 1e6))),
    ],
  };
  const sizes = (views, where) => ({
    title: `lines of picture at ${where}`,
    top: height * 1.1,
    marks: [height / 4, height / 2, height],
    lines: views.map((view, index) => named(view, index, changes(view.height, end))),
  });
  const rates = (views, where) => ({
    title: `frames a second ${where}`,
    top: fps * 1.3,
    marks: [0, fps / 4, fps / 2, fps],
    lines: views.map((view, index) => named(view, index, changes(view.fps, end))),
  });
  // With one size the plot of sizes is empty, so the sent frames are shown instead.
  const layered = record.experiment.video.layers || !/^L1/.test(record.experiment.video.mode);
  const panels = layered
    ? [
        bits,
        sizes(limited, "cyd"),
        rates(limited, "at cyd"),
        rates(others, "at ada and bob"),
        sizes(others, "ada and bob"),
      ]
    : [rates(senders(record), "sent"), rates(limited, "at cyd"), bits, rates(others, "at ada and bob")];
  return figure(title(record), panels, end, record);
}

function title({ experiment, server, encrypted, adaptation }) {
  return `${experiment.title}: ${server}${adaptation ? "" : ", adaptation off"}${encrypted ? ", end-to-end encrypted" : ""}`;
}

function named({ to, from, limited }, index, points) {
  const name = limited || to === undefined ? from : `${to} sees ${from}`;
  return { name, colour: COLOURS[index % COLOURS.length], points };
}

const below =
  (most) =>
  ([time, value]) => [time, Math.min(value, most)];

const scaled = (points, by) => points.map(([time, value]) => [time, value / by]);
/** A value holds until the next one; of equal ones only the ends are drawn. */
function changes(all, end) {
  const points = between(all, 0, end);
  return points.filter(([, value], index) => points[index - 1]?.[1] !== value || points[index + 1]?.[1] !== value);
}

function linkRate(record, end) {
  const start = record.steps[0].from;
  return record.steps.flatMap((step) => {
    const rate = rateAt(record, step);
    return rate === null
      ? []
      : [
          [(step.from - start) / 1000, rate],
          [Math.min(end, (step.to - start) / 1000), rate],
        ];
  });
}

function niceTop(value) {
  const steps = [0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10];
  return steps.find((step) => step >= value * 1.05) ?? Math.ceil(value * 1.1);
}

/**
 * Four distributions as curves: the share of readings of at most a given number of frames a
 * second.
 */
export function drawDistributions(results) {
  const most = Math.max(...results.map(({ video }) => video.fps)) * 1.15;
  const lines = results.map((result, index) => {
    const rates = result.views
      .filter((view) => view.limited)
      .flatMap((view) => view.distribution)
      .sort((a, b) => a - b);
    const points = rates.map((rate, place) => [rate, (100 * (place + 1)) / rates.length]);
    const name = `adaptation ${result.adaptation ? "on" : "off"}, ${result.steps[0].loss} loss`;
    return { name, colour: COLOURS[index % COLOURS.length], points: [[0, 0], ...points, [most, 100]] };
  });
  const panel = { title: "% of readings at or below", top: 100, marks: [0, 25, 50, 75, 100], lines };
  return frame("AV1 L1T3: frames a second at cyd, with and without loss and adaptation", [panel], {
    end: most,
    every: 5,
    unit: "frames a second",
    notes: [],
    panelHeight: 2 * PANEL,
  });
}

function figure(title, panels, end, record) {
  return frame(title, panels, {
    end,
    every: end > 60 ? 10 : 5,
    unit: "seconds",
    notes: stepLabels(record),
    panelHeight: PANEL,
  });
}

function frame(title, panels, { end, every, unit, notes, panelHeight }) {
  const height = TOP + panels.length * (panelHeight + GAP) + 14;
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="${LEFT}" y="24" font-size="16" fill="#222">${inText(title)}</text>`,
  ];
  const x = (time) => LEFT + (Math.max(0, Math.min(end, time)) / end) * (WIDTH - LEFT - RIGHT);
  const bottom = TOP + panels.length * (panelHeight + GAP) - GAP;
  const runsInto = ([time, label], next) => next && x(time) + 4 + label.length * 6 > x(next[0]);
  const isTight = notes.some((note, index) => runsInto(note, notes[index + 1]));
  for (const [index, [step, name]] of notes.entries()) {
    // If names would touch, the first states the unit for all.
    const label = isTight && index > 0 ? name.replace(" Mbit/s", "") : name;
    out.push(`<path d="M${x(step).toFixed(1)} ${TOP - 12}V${bottom}" stroke="#ccc" stroke-dasharray="3 3"/>`);
    out.push(
      `<text x="${(x(step) + 4).toFixed(1)}" y="${TOP - 18}" fill="#555" font-size="11">${inText(label)}</text>`,
    );
  }
  for (const [index, panel] of panels.entries())
    out.push(...drawPanel(panel, TOP + index * (panelHeight + GAP), panelHeight, x, end));
  for (let time = 0; time <= end; time += every) {
    out.push(`<text x="${x(time).toFixed(1)}" y="${bottom + 16}" text-anchor="middle" fill="#555">${time}</text>`);
  }
  out.push(`<text x="${WIDTH - RIGHT}" y="${bottom + 32}" text-anchor="end" fill="#555">${unit}</text>`, "</svg>");
  return `${out.join("\n")}\n`;
}

function stepLabels(record) {
  const start = record.steps[0].from;
  return record.steps.map((step) => {
    const name = stepName({ rate: rateAt(record, step), loss: step.loss });
    return [(step.from - start) / 1000, name];
  });
}

function drawPanel({ title, top, marks, lines }, at, tall, x, end) {
  const y = (value) => at + tall - (Math.max(0, Math.min(top, value)) / top) * tall;
  const out = [`<text x="${LEFT}" y="${at - 3}" fill="#222" font-size="11">${inText(title)}</text>`];
  for (const value of marks ?? [0, 1, 2, 3, 4].filter((it) => it <= top)) {
    out.push(`<path d="M${LEFT} ${y(value).toFixed(1)}H${WIDTH - RIGHT}" stroke="#eee"/>`);
    out.push(
      `<text x="${LEFT - 6}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end" fill="#555">${Number(value.toFixed(2))}</text>`,
    );
  }
  let right = WIDTH - RIGHT;
  for (const { name, colour } of [...lines].reverse()) {
    out.push(
      `<text x="${right}" y="${at - 3}" text-anchor="end" fill="${colour}" font-size="11">${inText(name)}</text>`,
    );
    right -= 8 + name.length * 6;
  }
  for (const { colour, points } of lines) {
    const path = points
      .filter(([time]) => time >= 0 && time <= end)
      .map(([time, value], index) => `${index === 0 ? "M" : "L"}${x(time).toFixed(1)} ${y(value).toFixed(1)}`);
    out.push(`<path d="${path.join("")}" fill="none" stroke="${colour}" stroke-width="1.6" stroke-linejoin="round"/>`);
  }
  return out;
}

const inText = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
