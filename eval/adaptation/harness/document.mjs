// Writes the results of the records into docs/measured/adaptation.md: tables between its markers,
// plots beside it, figures as JSON.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { judge, median } from "./judge.mjs";
import { draw, drawDistributions } from "./plot.mjs";
import { stepName } from "./report.mjs";

export const DOCUMENT = new URL("../../../docs/measured/adaptation.md", import.meta.url).pathname;
const PLOTS = new URL("../../../docs/measured/adaptation/", import.meta.url).pathname;
const RESULTS = new URL("../results/", import.meta.url).pathname;

/** The limits, apart from the freezes that each experiment bounds itself. */
const RECOVERY_MAX = 12;
const DECODED_MIN = 0.995;

/**
 * Judges every record under `folder` and writes everything down. Of runs whose records are not
 * there the figures stay as they were.
 */
export function writeUp(folder) {
  mkdirSync(PLOTS, { recursive: true });
  mkdirSync(RESULTS, { recursive: true });
  const known = new Map(earlier().map((result) => [result.label, result]));
  let read = 0;
  for (const label of existsSync(folder) ? readdirSync(folder).sort() : []) {
    const path = join(folder, label, "record.json");
    if (!existsSync(path)) continue;
    const record = JSON.parse(readFileSync(path, "utf8"));
    const result = { label, ...judge(record) };
    known.set(label, result);
    read += 1;
    writeFileSync(`${RESULTS}${label}.json`, `${JSON.stringify(result)}\n`);
    writeFileSync(`${PLOTS}${label}.svg`, draw(record));
  }
  const results = [...known.values()].sort((one, other) => (one.label < other.label ? -1 : 1));
  const distributions = results.filter(({ kind }) => kind === "distribution");
  if (distributions.length > 0) writeFileSync(`${PLOTS}scallop17.svg`, drawDistributions(distributions));
  let text = readFileSync(DOCUMENT, "utf8");
  for (const [name, write] of Object.entries(TABLES)) text = fill(text, name, write(results));
  writeFileSync(DOCUMENT, text);
  console.log(`${read} runs judged, ${results.length} written to ${DOCUMENT}`);
}

function earlier() {
  const files = readdirSync(RESULTS).filter((name) => name.endsWith(".json"));
  return files.map((name) => JSON.parse(readFileSync(join(RESULTS, name), "utf8")));
}

function fill(text, name, table) {
  const [from, to] = [`<!-- ${name} begins -->`, `<!-- ${name} ends -->`];
  const [before, after] = [text.indexOf(from), text.indexOf(to)];
  if (before < 0 || after < 0) throw new Error(`the document has no place for the table ${name}`);
  return `${text.slice(0, before + from.length)}\n${table}\n${text.slice(after)}`;
}

const TABLES = {
  steps: (results) => stepsTable(results.filter(({ kind }) => kind === "steps")),
  falls: (results) => fallsTable(results.filter(({ kind }) => kind === "falls")),
  shown: (results) => shownTable(results.filter(({ kind }) => kind === "steps" || kind === "reduced")),
  loss: (results) => lossTable(results.filter(({ kind }) => kind === "loss")),
  distribution: (results) => distributionTable(results.filter(({ kind }) => kind === "distribution")),
  machine: machineTable,
};

const bold = (text, failed) => (failed ? `**${text}**` : text);
const limited = ({ views }) => views.filter((view) => view.limited);
const others = ({ views }) => views.filter((view) => !view.limited);
const worst = (views, index, name) => Math.max(...views.map(({ steps }) => steps[index][name]));
const least = (views, index, name) => Math.min(...views.map(({ steps }) => steps[index][name]));
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const called = ({ title, server, encrypted, label }) =>
  `[${title}](adaptation/${label}.svg)${encrypted ? ", encrypted" : ""} | ${server}`;

function table(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.join("|").split("|").length)}`, ...rows.map(line)].join("\n");
}

function stepsTable(results) {
  const head = [
    "video | server",
    "first fall",
    "second fall",
    "rise",
    "full size",
    "and rate",
    "others: decoded",
    "full size",
    "least fps",
  ];
  return table(
    head,
    results.map((result) => [
      called(result),
      ...[1, 2, 3].map((index) => frozen(result, index)),
      ...["size", "rate"].map((what) => recovery(result, what)),
      ...["share", "full", "slowest"].map((what) => unmoved(result, what)),
    ]),
  );
}

/** Each time the downlink narrows, for both videos. */
function fallsTable(results) {
  const rows = results.map((result) => {
    const width = Math.min(...result.steps.map(({ rate }) => rate));
    const narrow = (view) => view.steps.filter((_, index) => result.steps[index].rate === width);
    const all = (what) => limited(result).flatMap((view) => narrow(view).map((step) => step[what]));
    const [gaps, frozen] = [all("gap"), all("frozen")];
    const beyond = frozen.filter((it) => it > result.freezeMax).length;
    return [
      called(result),
      `${median(gaps).toFixed(2)} s`,
      `${Math.max(...gaps).toFixed(2)} s`,
      `${median(frozen).toFixed(2)} s`,
      `${Math.max(...frozen).toFixed(2)} s`,
      bold(`${beyond} of ${frozen.length}`, beyond > 0),
    ];
  });
  const asked = "frozen longer than asked";
  return table(["video | server", "longest gap", "of all", "frozen", "most", asked], rows);
}

/**
 * The worse of both pictures: seconds frozen by the browser's account, and the longest wait for a
 * picture; beside it what was announced.
 */
function frozen(result, index) {
  const views = limited(result);
  const said = (value) => bold(value.toFixed(2), value > result.freezeMax);
  const paused = worst(views, index, "paused");
  const apart = paused > 0 ? `, paused ${paused.toFixed(1)} s` : "";
  return `${said(worst(views, index, "frozen"))} / ${said(worst(views, index, "gap"))} s${apart}`;
}

function recovery(result, what) {
  const all = limited(result).map((view) => view.recovery[what]);
  if (all.includes(null)) return "**not**";
  const last = Math.max(...all);
  return bold(`${last.toFixed(1)} s`, last > RECOVERY_MAX);
}

/** Lowest value of the others while one downlink was narrow, beside that of the first step. */
function unmoved(result, what) {
  const views = others(result);
  const after = Math.min(...result.steps.slice(1).map((_, index) => least(views, index + 1, what)));
  const said = what === "slowest" ? String : percent;
  return `${said(after)} (${said(least(views, 0, what))})`;
}

function shownTable(results) {
  const rows = results.flatMap((result) =>
    limited(result).map((view) => [
      called(result),
      view.from,
      view.steps
        .map((it, index) => `${stepName(result.steps[index])}: ${it.height} lines, ${it.fps} fps, ${it.kbit} kbit/s`)
        .join("<br>"),
    ]),
  );
  return table(["video | server", "from", "at the end of each step"], rows);
}

function lossTable(results) {
  const rows = results.map((result) => {
    const views = limited(result);
    const share = least(views, 1, "share");
    return [
      called(result),
      bold(percent(share), share < DECODED_MIN),
      `${least(views, 1, "fps")} (${least(views, 0, "fps")})`,
      `${worst(views, 1, "frozen").toFixed(2)} s in ${worst(views, 1, "freezes")}`,
      `${worst(views, 1, "gap").toFixed(2)} s`,
      `${views.reduce((sum, { steps }) => sum + steps[1].nacks, 0)}`,
    ];
  });
  return table(["loss | server", "decoded", "frames a second (before)", "frozen", "longest gap", "asked again"], rows);
}

function distributionTable(results) {
  const rows = results.map((result) => {
    const rates = limited(result).flatMap((view) => view.distribution);
    const middle = median(rates);
    // The frame rates there are: all layers, or without the last one or two.
    const target = [1, 0.5, 0.25]
      .map((part) => part * result.video.fps)
      .sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))[0];
    const outside = rates.filter((rate) => Math.abs(rate - target) > 0.1 * target).length / rates.length;
    return [
      result.server,
      result.adaptation ? "on" : "off",
      result.steps[0].loss,
      stepName({ rate: result.steps[0].rate }),
      middle,
      target,
      percent(outside),
      `${worst(limited(result), 0, "frozen").toFixed(2)} s`,
    ];
  });
  return table(
    ["server", "adaptation", "loss", "downlink", "median fps", "aim", "readings off by more than 10 %", "frozen"],
    rows,
  );
}

function machineTable(results) {
  const rows = results.map((result) => [
    called(result),
    result.steps.map(({ processors }) => processors).join(", "),
    result.steps.map(({ others }) => others).join(", "),
    `${Math.max(...Object.values(result.late))} ms`,
    result.shaper,
  ]);
  return table(["run | server", "processors used", "by other programs", "pages late by at most", "rate by"], rows);
}
