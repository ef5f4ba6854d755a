// The server under test: a Weir of our own in the hub, another program there, or a server
// elsewhere.

import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MACHINE_ADDRESS, SERVER_ADDRESS } from "./network.mjs";
import { shell } from "./shell.mjs";

const WEIR = new URL("../../target/release/weir", import.meta.url).pathname;
const PORT = 7880;
const STARTUP_MS = 15_000;
const LOG_TAIL = 4000;

/**
 * `{ url, key, secret, name, version, stop }`; `stop(signal)` returns the end of its log.
 *
 * With `url` and no `command` the server runs already, on this machine; loopback is reached under
 * the machine's address in the harness.
 */
export async function startServer(network, folder, { url, key, secret, command, name, adaptation, kernel }) {
  if (url && !command) {
    network.connectMachine();
    const reachable = url.replace(/\/\/(localhost|127\.0\.0\.1)/, `//${MACHINE_ADDRESS}`).replace(/\/$/, "");
    return { url: reachable, key, secret, name: name ?? "server", version: "", stop: async () => "" };
  }
  const line = command ?? weirCommand(network, folder, { adaptation, kernel });
  const child = launch(network, folder, line.replaceAll("{address}", SERVER_ADDRESS).replaceAll("{port}", `${PORT}`));
  try {
    await listens(child, network);
  } catch (error) {
    console.error(await child.stop());
    throw error;
  }
  return {
    url: `ws://${SERVER_ADDRESS}:${PORT}`,
    key,
    secret,
    name: name ?? (command ? "server" : kernel ? "weir-kernel" : "weir"),
    isWeir: !command && !name,
    version: command ? "" : weirVersion(),
    stop: child.stop,
  };
}

function weirCommand(network, folder, { adaptation, kernel }) {
  const binary = process.env.WEIR_BINARY ?? WEIR;
  const serve = `${binary} serve --dev --bind {address} --node-ip {address} --port {port} --rtc-port 7882`;
  if (adaptation && !kernel) return serve;
  const rtc = [`adaptation: ${adaptation}`];
  if (kernel) {
    // A packet that an interface has merged from several cannot be copied.
    shell(`ip netns exec ${network.namespace("hub")} ethtool -K bridge gro off`);
    rtc.push("clear_rtp: true", "offload: ebpf", 'ebpf: {interfaces: [bridge], rooms: copy_and_pass, pins: ""}');
  }
  const config = join(folder, "weir.yaml");
  writeFileSync(config, `rtc: {${rtc.join(", ")}}\n`);
  return `${serve} --config ${config}`;
}

/**
 * The revision a Weir of this tree was built from, if it was built last; for another one the
 * environment states it.
 */
function weirVersion() {
  if (process.env.WEIR_BINARY) return process.env.WEIR_REVISION ?? "";
  try {
    return shell("git describe --always --dirty=+").trim();
  } catch {
    return "";
  }
}

function launch(network, folder, line) {
  const path = join(folder, "server.log");
  const log = openSync(path, "w");
  const arguments_ = ["netns", "exec", network.namespace("hub"), ...line.split(" ")];
  const child = spawn("ip", arguments_, { stdio: ["ignore", log, log], detached: true });
  closeSync(log);
  const ended = new Promise((resolve) => {
    child.once("exit", resolve);
    child.once("error", resolve);
  });
  const stop = async (signal = "SIGTERM") => {
    child.kill(signal);
    const late = setTimeout(() => child.kill("SIGKILL"), 5000);
    await ended;
    clearTimeout(late);
    return readFileSync(path, "utf8").slice(-LOG_TAIL);
  };
  return { pid: child.pid, ended, stop };
}

/**
 * Waits for the server to listen. The driver is outside the network, so it looks at the kernel's
 * table of listening sockets.
 */
async function listens(child, network) {
  let over = false;
  child.ended.then(() => {
    over = true;
  });
  const deadline = Date.now() + STARTUP_MS;
  while (Date.now() < deadline && !over) {
    const sockets = shell(`ip netns exec ${network.namespace("hub")} cat /proc/net/tcp /proc/net/tcp6`);
    const listening = new RegExp(`:${PORT.toString(16).toUpperCase()} [0-9A-F]+:0000 0A`);
    if (listening.test(sockets)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(over ? "the server ended at once" : `the server did not listen on port ${PORT}`);
}
