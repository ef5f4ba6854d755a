import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./ports.mjs";
import { waitFor } from "./wait.mjs";

const BINARY = new URL("../../../target/release/weir", import.meta.url).pathname;
const LOOPBACK = "127.0.0.1";
const STARTUP_MS = 15_000;
const SHUTDOWN_MS = 5_000;
const LOG_TAIL = 20_000;

const notStarted = (binary) => `${binary} did not start. Build it first, or name a running server in WEIR_URL.`;

/**
 * The server under test: the one in `WEIR_URL`, or a Weir of our own on free ports.
 *
 * `own` says that it is a Weir started for the tests, which then must serve everything they need. A
 * test that needs other settings than the defaults gives the text of a configuration, another
 * address than loopback, or wants TLS, and gets a Weir of its own.
 */
export async function startServer({ configuration, address = LOOPBACK, tls = false } = {}) {
  if (process.env.WEIR_URL && configuration === undefined && address === LOOPBACK && !tls) {
    return { url: process.env.WEIR_URL.replace(/\/$/, ""), own: process.env.WEIR_OWN === "1", stop: async () => {} };
  }
  const folder = mkdtempSync(join(tmpdir(), "weir-server-"));
  const logPath = join(folder, "log");
  const log = openSync(logPath, "w");
  const [port, rtcPort] = [await freePort(), await freePort()];
  const binary = process.env.WEIR_BINARY ?? BINARY;
  const settings = join(folder, "weir.yaml");
  if (configuration !== undefined) writeFileSync(settings, configuration);
  const given = configuration === undefined ? [] : ["--config", settings];
  const tlsPort = tls ? await freePort() : undefined;
  if (tls) given.push(`--dev-tls=${tlsPort}`);
  const child = spawn(binary, [...serveArguments(address, port, rtcPort), ...given], { stdio: ["ignore", log, log] });
  closeSync(log);
  const ended = new Promise((resolve) => {
    child.once("exit", resolve);
    child.once("error", resolve);
  });
  const stop = async ({ showLog = false } = {}) => {
    await end(child, ended);
    if (showLog) console.error(`--- the server's log ---\n${readFileSync(logPath, "utf8").slice(-LOG_TAIL)}`);
    rmSync(folder, { recursive: true, force: true });
  };

  const url = `http://${address}:${port}`;
  try {
    await Promise.race([healthy(url), ended.then(() => Promise.reject(new Error(notStarted(binary))))]);
  } catch (error) {
    await stop({ showLog: true });
    throw error;
  }
  return { url: tls ? `https://${address}:${tlsPort}` : url, own: true, stop };
}

/** A server that has no page to serve can be named in WEIR_URL; a Weir of our own must have one. */
export async function pageIsMissing() {
  if (!process.env.WEIR_URL || process.env.WEIR_OWN === "1") return false;
  const answer = await fetch(process.env.WEIR_URL).then((it) => it.text());
  return !answer.includes('id="root"') && "the server named by WEIR_URL serves no page";
}

function serveArguments(address, port, rtcPort) {
  return ["serve", "--dev", "--bind", address, "--node-ip", address, "--port", `${port}`, "--rtc-port", `${rtcPort}`];
}

async function healthy(url) {
  const ok = async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.ok;
  await waitFor("the server to answer /healthz", ok, { timeout: STARTUP_MS });
}

async function end(child, ended) {
  if (child.pid === undefined) return;
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), SHUTDOWN_MS);
  await ended;
  clearTimeout(late);
}
