// Runs the browser tests: `npm test`, or `npm test -- --test-name-pattern=mute` for some of them,
// or `npm test -- codecs.test.mjs` for one file.
//
// It exists because `node --test` requires its options before its files, and so that all files
// share one Weir.

import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { startServer } from "./support/server.mjs";

// Each test has a limit of its own: this one ends a run that hangs elsewhere.
const LIMIT_MS = 60 * 60_000;

const here = new URL(".", import.meta.url).pathname;
const given = process.argv.slice(2);
const options = given.filter((argument) => argument.startsWith("-"));
const files = given.filter((argument) => !argument.startsWith("-"));
const all = ["", "networks/", "operator/", "sdk/", "sip/", "whip/"]
  .flatMap((folder) => readdirSync(here + folder).map((name) => folder + name))
  .filter((name) => name.endsWith(".test.mjs"))
  .sort()
  .map((name) => here + name);

const server = await startServer();
const tests = spawn(
  process.execPath,
  ["--test", "--test-concurrency=1", "--test-reporter=spec", ...options, ...(files.length > 0 ? files : all)],
  { stdio: "inherit", env: { ...process.env, WEIR_URL: server.url, WEIR_OWN: server.own ? "1" : "" } },
);
const late = setTimeout(() => tests.kill("SIGTERM"), LIMIT_MS);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => tests.kill(signal));

tests.on("exit", async (code) => {
  clearTimeout(late);
  await server.stop({ showLog: code !== 0 });
  process.exitCode = code ?? 1;
});
