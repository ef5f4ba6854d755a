// The results as a table of the page, and join by join.

import { readFileSync, writeFileSync } from "node:fs";
import { MILESTONES, PHASES, phases, quantile } from "./phases.mjs";

const BEGIN = "<!-- connect begins -->\n";
const END = "<!-- connect ends -->\n";

/** Counts of `getStats()` just after the first frame: `[label, name]`. */
const COUNTED = [
  ["packets received", "packetsReceived"],
  ["PLI sent", "pliCount"],
  ["ms in which its packets were collected", "totalAssemblyTime"],
  ["ms in the jitter buffer", "jitterBufferDelay"],
  ["ms of decoding", "totalDecodeTime"],
];

const shown = (value) => (value === undefined ? "-" : value.toFixed(value < 10 ? 1 : 0));
const median = (values) => quantile(values, 0.5);

/** Milestones, phases, and what was counted until the first frame. */
export function tables({ servers, joins, failures }, { rtt, rounds }) {
  const of = ({ name }) => joins.filter(({ server }) => server === name);
  const names = servers.map(({ name }) => name);
  const numbers = servers.map((server) => `${of(server).length} joins of ${server.name}`);
  const how = `${rounds} alternating rounds, ${numbers.join(", ")}`;
  const versions = servers.flatMap(({ name, version }) => (version ? [`${name}: ${version}`] : []));
  const lines = [
    `${how}, round trip ${rtt} ms.`,
    ...versions.map((version) => `${version}.`),
    "",
    `| ms since \`connect()\` | ${names.map((name) => `${name}: p50, p90`).join(" | ")} |`,
    `|---|${names.map(() => "---").join("|")}|`,
    ...MILESTONES.map(([label, step]) => {
      const cells = servers.map((server) => {
        const values = of(server).map(({ marks }) => marks[step]);
        return `${shown(quantile(values, 0.5))}, ${shown(quantile(values, 0.9))}`;
      });
      return `| ${label} | ${cells.join(" | ")} |`;
    }),
    "",
    `| phase, ms, p50 | ${names.join(" | ")} |`,
    `|---|${names.map(() => "---").join("|")}|`,
    ...PHASES.map(([label]) => {
      const cells = servers.map((server) => shown(median(of(server).map(({ marks }) => phases(marks)[label]))));
      return `| ${label} | ${cells.join(" | ")} |`;
    }),
    "",
    `| until the first frame, p50 | ${names.join(" | ")} |`,
    `|---|${names.map(() => "---").join("|")}|`,
    ...COUNTED.map(([label, name]) => {
      const cells = servers.map((server) => shown(median(of(server).map(({ stats }) => stats[name]))));
      return `| ${label} | ${cells.join(" | ")} |`;
    }),
    ...failures.flatMap((failure) => ["", `Failed: ${failure}.`]),
  ];
  return `${lines.join("\n")}\n`;
}

/** Every join, a line each. */
export function csv({ joins }) {
  const steps = [...new Set(joins.flatMap(({ marks }) => Object.keys(marks)))].sort();
  const counted = [...new Set(joins.flatMap(({ stats }) => Object.keys(stats)))];
  const rows = joins.map(({ server, round, connections, load, marks, stats }) => {
    const numbers = [...steps.map((step) => marks[step]), ...counted.map((name) => stats[name])];
    return [server, round + 1, connections, load, ...numbers.map((value) => value?.toFixed(1) ?? "")].join(",");
  });
  return `${[["server", "round", "connections", "load", ...steps, ...counted].join(","), ...rows].join("\n")}\n`;
}

/** Puts the text between the markers of the page; they are added at its end if there are none. */
export function put(page, text) {
  const old = readFileSync(page, "utf8");
  const body = `${BEGIN}\n${text}${END}`;
  const [from, to] = [old.indexOf(BEGIN), old.indexOf(END)];
  const whole = from >= 0 && to > from;
  writeFileSync(page, whole ? old.slice(0, from) + body + old.slice(to + END.length) : `${old.trimEnd()}\n\n${body}`);
}
