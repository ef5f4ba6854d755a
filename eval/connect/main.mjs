// Reads the command line, measures, and writes up.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { csv, put, tables } from "./harness/report.mjs";

const USAGE = `Measures the time from connect() to the first frame in Chromium, beside LiveKit.

  eval/connect/run [options]

  --rounds N       rounds, in each of which every server is started once (5)
  --joins N        counted joins in each round and server (10)
  --rtt MS         round trip between the joining participant and the server (0)
  --dual           livekit-client uses two peer connections (/rtc) instead of one (/rtc/v1)
  --simulcast      the publisher sends simulcast layers
  --only NAME      only this server, weir or livekit; may be given several times
  --out FOLDER     the table of joins (target/connect)
  --page FILE      the page to write into (docs/measured/performance.md)
  --dry            nothing is written into the page

LIVEKIT_SERVER names LiveKit's program, and WEIR_BINARY Weir's. LiveKit is left out if it is not installed.
`;

const root = (path) => new URL(`../../${path}`, import.meta.url).pathname;

const { values } = parseArgs({
  options: {
    help: { type: "boolean" },
    rounds: { type: "string", default: "5" },
    joins: { type: "string", default: "10" },
    rtt: { type: "string", default: "0" },
    dual: { type: "boolean", default: false },
    simulcast: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    out: { type: "string", default: root("target/connect") },
    page: { type: "string", default: root("docs/measured/performance.md") },
    dry: { type: "boolean", default: false },
  },
});

if (values.help) {
  console.log(USAGE);
} else {
  process.exitCode = await run();
}

async function run() {
  const { measure } = await import("./harness/measure.mjs");
  const stopped = new Promise((_, reject) => {
    for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
  });
  stopped.catch(() => {});
  const options = {
    namespaces: process.env.NAMESPACES ?? `weir-connect-${process.pid}`,
    folder: process.env.WORK_FOLDER ?? "/tmp",
    stopped,
    rounds: Number(values.rounds),
    joins: Number(values.joins),
    rtt: Number(values.rtt),
    single: !values.dual,
    simulcast: values.simulcast,
    only: values.only,
  };
  let taken;
  try {
    taken = await measure(options);
  } catch (error) {
    console.error(`connect: ${error.message}`);
    return 1;
  }
  mkdirSync(values.out, { recursive: true });
  writeFileSync(join(values.out, "joins.csv"), csv(taken));
  const text = tables(taken, options);
  console.log(text);
  if (!values.dry) put(values.page, text);
  return taken.failures.length > 0 ? 1 : 0;
}
