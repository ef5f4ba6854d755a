// Curves of one run as SVG that a browser and a repository page can show.

import { between, rateAt, views } from "./curves.mjs";

const WIDTH = 860;
const LEFT = 62;
const RIGHT = 16;
const TOP = 62;
const GAP = 34;
const PANEL = 118;
/** Readable on white and on black, and to those who do not see colours alike. */
const COLOURS = ["#2a78d6", "#e8702a", "#3a9a6b", "#b04ac0"];
const GREY = "#8a8a8a";

/** Bit rate, size and frame rate at the limited participant, and frame rates everywhere else. */
export function draw(record) {
  const all = views(record);
  const limited = all.filter((view) => view.limited);
  const others = all.filter((view) => !view.limited);
  const end = (record.steps.at(-1).to - record.steps[0].from) / 1000;
  const { height, fps } = record.experiment.video;
  const link = linkRate(record, end);
  const rates = [...limited.flatMap((view) => view.bitrate.map(([, rate]) => rate)), ...link.map(([, rate]) => rate)];
  const most = niceTop(Math.max(...rates) / 1e6);
  const panels = [
    {
      title: "Mbit/s of video at cyd, and what the downlink carries",
      top: most,
      lines: [
        { name: "downlink", colour: GREY, points: scaled(link, 1e6) },
        ...limited.map((view, index) => named(view, index, scaled(view.bitrate, 1e6))),
      ],
    },
    {
      title: "lines of picture at cyd",
      top: height * 1.1,
      marks: marks(height),
      lines: limited.map((view, index) => named(view, index, stepped(view.height, end))),
    },
    {
      title: "frames a second at cyd",
      top: fps * 1.3,
      marks: [0, fps / 2, fps],
      lines: limited.map((view, index) => named(view, index, view.fps)),
    },
    {
      title: "frames a second at ada and bob",
      top: fps * 1.3,
      marks: [0, fps / 2, fps],
      lines: others.map((view, index) => named(view, index, view.fps, `${view.to} sees ${view.from}`)),
    },
    {
      title: "lines of picture at ada and bob",
      top: height * 1.1,
      marks: marks(height),
      lines: others.map((view, index) => named(view, index, stepped(view.height, end), `${view.to} sees ${view.from}`)),
    },
  ];
  return figure(title(record), panels, end, record);
}

function title({ experiment, server, encrypted, adaptation }) {
  return `${experiment.title}: ${server}${adaptation ? "" : ", adaptation off"}${encrypted ? ", end-to-end encrypted" : ""}`;
}

function named(view, index, points, name = `${view.from}'s`) {
  return { name, colour: COLOURS[index % COLOURS.length], points };
}

const scaled = (points, by) => points.map(([time, value]) => [time, value / by]);
const marks = (height) => [height / 4, height / 2, height];

/** A size holds until the next picture; of equal ones only the ends are drawn. */
function stepped(all, end) {
  const points = between(all, 0, end);
  const kept = [];
  for (const [index, [time, value]] of points.entries()) {
    const [before, after] = [points[index - 1]?.[1], points[index + 1]?.[1]];
    if (before !== undefined && before !== value) kept.push([time, before]);
    if (before !== value || after !== value) kept.push([time, value]);
  }
  return kept;
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

function figure(title, panels, end, record) {
  const height = TOP + panels.length * (PANEL + GAP) + 14;
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="${LEFT}" y="24" font-size="16" fill="#222">${inText(title)}</text>`,
  ];
  const x = (time) => LEFT + (Math.max(0, Math.min(end, time)) / end) * (WIDTH - LEFT - RIGHT);
  const bottom = TOP + panels.length * (PANEL + GAP) - GAP;
  for (const [step, label] of stepLabels(record)) {
    out.push(`<path d="M${x(step).toFixed(1)} ${TOP - 12}V${bottom}" stroke="#ccc" stroke-dasharray="3 3"/>`);
    out.push(
      `<text x="${(x(step) + 4).toFixed(1)}" y="${TOP - 18}" fill="#555" font-size="11">${inText(label)}</text>`,
    );
  }
  for (const [index, panel] of panels.entries()) out.push(...drawPanel(panel, TOP + index * (PANEL + GAP), x, end));
  for (let time = 0; time <= end; time += end > 60 ? 10 : 5) {
    out.push(`<text x="${x(time).toFixed(1)}" y="${bottom + 16}" text-anchor="middle" fill="#555">${time}</text>`);
  }
  out.push(`<text x="${WIDTH - RIGHT}" y="${bottom + 32}" text-anchor="end" fill="#555">seconds</text>`, "</svg>");
  return `${out.join("\n")}\n`;
}

function stepLabels(record) {
  const start = record.steps[0].from;
  return record.steps.map((step) => {
    const rate = rateAt(record, step);
    const words = [rate === null ? "not limited" : rate >= 1e6 ? `${rate / 1e6} Mbit/s` : `${rate / 1e3} kbit/s`];
    if (step.loss && step.loss !== "0%") words.push(`${step.loss} loss`);
    return [(step.from - start) / 1000, words.join(", ")];
  });
}

function drawPanel({ title, top, marks, lines }, at, x, end) {
  const y = (value) => at + PANEL - (Math.max(0, Math.min(top, value)) / top) * PANEL;
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
