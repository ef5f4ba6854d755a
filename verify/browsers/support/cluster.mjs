// A cluster of one's own: etcd, and in each region a controller and a media node. All are at
// loopback, or each in a namespace of a network.

import { execFileSync, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BINARY } from "./kernel.mjs";
import { freePort } from "./ports.mjs";
import { waitFor } from "./wait.mjs";

/** Signs tokens for it. */
export const KEY = { key: "clusterkey", secret: "a-secret-of-a-cluster-for-its-tests" };
const METRICS_TOKEN = "a-token-of-the-tests-for-metrics";
const LOOPBACK = { address: "127.0.0.1", within: [], ask: (url, options) => fetch(url, options) };
/** A program that asks a URL, and prints whether the answer is good, and its text. */
const ASK = `const [url, options] = JSON.parse(process.argv[1]);
fetch(url, options).then(async (it) => console.log(JSON.stringify([it.ok, await it.text()])));`;
const STARTUP_MS = 20_000;
const LOG_TAIL = 5_000;

/** The reason that there can be no cluster on this machine, if there is one. */
export function clusterIsMissing() {
  try {
    execFileSync("etcd", ["--version"], { stdio: "ignore" });
    return false;
  } catch {
    return "SKIPPED, no cluster was tested: etcd is missing";
  }
}

/** The names of the machines of a cluster with these regions, in a network. */
export function machinesOf(regions) {
  return ["store", ...regions.flatMap((region) => [`media-${region}`, `controller-${region}`])];
}

/**
 * Starts one with these regions, in a network whose people have the names of its machines, if there
 * is one. `controllers` has the URL of each region's controller, `overview()` is the cluster as the
 * controller of a region knows it, and `end()` asks a machine to end, and waits for it.
 */
export async function startCluster(regions, network) {
  const folder = mkdtempSync(join(tmpdir(), "weir-cluster-"));
  const children = [];
  const place = (name) => (network ? placeIn(network, name) : LOOPBACK);
  const start = (name, command) => {
    const log = openSync(join(folder, `${name}.log`), "w");
    const [program, ...words] = [...place(name).within, ...command];
    children.push({ name, child: spawn(program, words, { stdio: ["ignore", log, log] }) });
    closeSync(log);
  };
  const stop = async ({ showLog = false } = {}) => {
    for (const { name, child } of children.reverse()) {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      if (child.exitCode === null && child.kill("SIGKILL")) await ended;
      if (showLog)
        console.error(`--- ${name} ---\n${readFileSync(join(folder, `${name}.log`), "utf8").slice(-LOG_TAIL)}`);
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const store = await startStore(folder, place("store"), start);
    const certificates = join(folder, "certificates");
    execFileSync(BINARY, ["cluster-cert", certificates], { stdio: "ignore" });
    const controllers = {};
    const urls = new Map();
    for (const region of regions) {
      for (const role of ["media", "controller"]) {
        const name = `${role}-${region}`;
        const { address } = place(name);
        const url = await startMachine({ name, role, region, address, folder, certificates, store, start });
        urls.set(name, url);
        if (role === "controller") controllers[region] = url;
      }
    }
    const ask = (name, path, headers) =>
      place(name)
        .ask(`${urls.get(name)}${path}`, { headers })
        .catch(() => undefined);
    // A media node is ready once a controller commands it.
    for (const name of urls.keys()) {
      await waitFor(`${name} to be ready`, async () => (await ask(name, "/readyz"))?.ok, { timeout: STARTUP_MS });
    }
    const overview = async (region) => {
      const headers = { Accept: "application/json", Authorization: `Bearer ${METRICS_TOKEN}` };
      return ask(`controller-${region}`, "/api/cluster", headers).then((answer) => answer.json());
    };
    const end = async (name, timeout) => {
      const { child } = children.find((it) => it.name === name);
      child.kill("SIGTERM");
      await waitFor(`${name} to end`, () => child.exitCode !== null, { timeout });
    };
    return { controllers, overview, end, stop };
  } catch (error) {
    await stop({ showLog: true });
    throw error;
  }
}

/** The place of a machine. It is asked from the hub, as this process is not in the network. */
function placeIn(network, name) {
  const ask = async (...what) => {
    const words = ["netns", "exec", network.namespace("hub"), process.execPath, "-e", ASK, JSON.stringify(what)];
    const [ok, text] = JSON.parse(execFileSync("ip", words, { stdio: ["ignore", "pipe", "ignore"] }).toString());
    return { ok, json: async () => JSON.parse(text) };
  };
  return { address: network.address(name), within: ["ip", "netns", "exec", network.namespace(name)], ask };
}

async function startStore(folder, { address }, start) {
  const [client, peer] = [`http://${address}:${await freePort()}`, `http://${address}:${await freePort()}`];
  const where = ["--listen-client-urls", client, "--advertise-client-urls", client];
  const peers = ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer];
  start("store", [
    "etcd",
    ...["--data-dir", join(folder, "etcd"), "--initial-cluster", `default=${peer}`],
    ...where,
    ...peers,
  ]);
  return `{etcd: {endpoints: ['${client}']}}`;
}

/** Starts a process of Weir; returns its URL. */
async function startMachine({ name, role, region, address, folder, certificates, store, start }) {
  const [port, rtcPort, south, forward] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const settings = join(folder, `${name}.yaml`);
  // Only controllers may read what media nodes keep.
  const drain = role === "media" ? "  move_within: 4\ndrain_timeout: 30\n" : "";
  const secrets = role === "controller" ? `  secrets: ${certificates}/secrets\n` : "";
  writeFileSync(
    settings,
    `metrics: {token: ${METRICS_TOKEN}}
cluster:
  name: ${name}
  region: ${region}
  listen: ${address}:${south}
  controllers: {listen: '${address}:${forward}'}
  ca: ${certificates}/ca.pem
  certificate: ${certificates}/weir.pem
  key: ${certificates}/weir.key
  store: ${store}
${secrets}${drain}`,
  );
  const keys = role === "controller" ? [`--keys=${KEY.key}: ${KEY.secret}`] : [];
  const where = ["--bind", address, "--node-ip", address, "--port", `${port}`, "--rtc-port", `${rtcPort}`];
  start(name, [BINARY, role, "--config", settings, ...where, ...keys]);
  return `http://${address}:${port}`;
}
