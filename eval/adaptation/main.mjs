// Reads the command line, and runs one experiment after the other.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { csv } from "./harness/curves.mjs";
import { writeUp } from "./harness/document.mjs";
import { names, select } from "./harness/experiments.mjs";
import { judge } from "./harness/judge.mjs";
import { draw } from "./harness/plot.mjs";
import { print } from "./harness/report.mjs";

const USAGE = `Measures, in real browsers behind limited links, whether each receiver's video follows its own downlink.

  eval/adaptation/run EXPERIMENT... [options]     ${names.join(", ")}
  eval/adaptation/run report                      writes the tables and plots of docs/measured/adaptation.md from the records there are

  --e2ee              frames are end-to-end encrypted by livekit-client
  --kernel            nothing is encrypted, and Weir lets the kernel copy what it can (docs/design/ebpf.md)
  --no-adaptation     Weir forwards everything whatever the downlink carries
  --server-cmd LINE   another server, started in the harness; {address} and {port} are filled in
  --url URL           a server that runs on this machine already
  --key, --secret     of that server's API; devkey and secret unless said
  --name NAME         what to call it in the results
  --seed N            of losses and cameras (1)
  --rtt MS            round trip of the limited participant where the experiment does not say (20)
  --queue MS          what its downlink buffers (300)
  --shaper tc|relay   who limits the rate; the kernel's token bucket where there is one
  --grain N           noise in the pictures (6)
  --dynacast          publishers stop encoding what nobody gets
  --scale FACTOR      makes every step so many times as long (1)
  --out FOLDER        results (target/adaptation)
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: "boolean" },
    e2ee: { type: "boolean", default: false },
    kernel: { type: "boolean", default: false },
    "no-adaptation": { type: "boolean", default: false },
    "server-cmd": { type: "string" },
    url: { type: "string" },
    key: { type: "string", default: "devkey" },
    secret: { type: "string", default: "secret" },
    name: { type: "string" },
    seed: { type: "string", default: "1" },
    rtt: { type: "string", default: "20" },
    queue: { type: "string", default: "300" },
    shaper: { type: "string", default: "auto" },
    grain: { type: "string", default: "6" },
    scale: { type: "string", default: "1" },
    dynacast: { type: "boolean", default: false },
    out: { type: "string", default: new URL("../../target/adaptation", import.meta.url).pathname },
  },
});

if (values.help || positionals.length === 0) {
  console.log(USAGE);
} else if (positionals[0] === "report") {
  writeUp(values.out);
} else {
  const unknown = positionals.filter((name) => select(name).length === 0);
  if (unknown.length > 0) {
    console.error(`no experiment is called ${unknown.join(" or ")}: there are ${names.join(", ")}`);
    process.exitCode = 2;
  } else {
    process.exitCode = await runAll(positionals.flatMap(select));
  }
}

async function runAll(chosen) {
  const { measure } = await import("./harness/measure.mjs");
  const stopped = new Promise((_, reject) => {
    for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
  });
  stopped.catch(() => {});
  let failures = 0;
  for (const experiment of chosen) {
    if (values.e2ee && experiment.video.codec === "av1") {
      console.log(`\n${experiment.title}: left out, because livekit-client does not encrypt AV1`);
      continue;
    }
    console.log(`\n${experiment.title}${values.e2ee ? ", end-to-end encrypted" : ""}`);
    try {
      keep(await measure(scaled(experiment), settings(stopped)));
    } catch (error) {
      failures += 1;
      console.error(`${experiment.name}: ${error.message}`);
      if (/^stopped by/.test(error.message)) break;
    }
  }
  return failures > 0 ? 1 : 0;
}

function scaled(experiment) {
  const steps = experiment.steps.map((step) => ({ ...step, seconds: step.seconds * Number(values.scale) }));
  return { ...experiment, steps };
}

function settings(stopped) {
  return {
    namespaces: process.env.NAMESPACES ?? `weir-adaptation-${process.pid}`,
    folder: process.env.WORK_FOLDER ?? "/tmp",
    stopped,
    url: values.url,
    command: values["server-cmd"],
    key: values.key,
    secret: values.secret,
    name: values.name,
    seed: Number(values.seed),
    roundTripMs: Number(values.rtt),
    queueMs: Number(values.queue),
    shaper: values.shaper,
    grain: Number(values.grain),
    dynacast: values.dynacast,
    e2ee: values.e2ee,
    kernel: values.kernel,
    adaptation: !values["no-adaptation"],
  };
}

/** Writes record, curves, figures and plot, and prints the figures. */
function keep(record) {
  const { server, experiment, encrypted } = record;
  const label = [server, experiment.name, encrypted && "e2ee", values["no-adaptation"] && "unadapted"]
    .filter(Boolean)
    .join("-");
  const folder = join(values.out, label);
  mkdirSync(folder, { recursive: true });
  const result = judge(record);
  writeFileSync(join(folder, "record.json"), JSON.stringify(record));
  writeFileSync(join(folder, "result.json"), `${JSON.stringify(result, undefined, 1)}\n`);
  writeFileSync(join(folder, "curves.csv"), csv(record));
  writeFileSync(join(folder, "curves.svg"), draw(record));
  print(result);
  console.log(folder);
}
