// Kamailio with the configuration that docs/operate/sip.md has for browsers.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./ports.mjs";
import { waitFor } from "./wait.mjs";

const CONFIGURATION = new URL("../../../docs/operate/sip/kamailio-browsers.cfg", import.meta.url).pathname;
const PROGRAMS = ["/usr/sbin/kamailio", "/usr/local/sbin/kamailio", "/usr/bin/kamailio"];
const LOOPBACK = "127.0.0.1";

/** Lines about a WebSocket whose page a test closed while a message was on its way to it. */
const BROWSER_GONE = /core\/tcp_main\.c|websocket \[ws_frame\.c/;

const program = () => PROGRAMS.find((path) => existsSync(path));

/** Why it cannot run here, or false. */
export function kamailioIsMissing() {
  const missing =
    "this machine lacks Kamailio with WebSockets (on Debian: apt-get install kamailio kamailio-websocket-modules)";
  const folders = readdirSync("/usr/lib").map((name) => `/usr/lib/${name}/kamailio/modules/websocket.so`);
  return !(program() && folders.some((path) => existsSync(path))) && missing;
}

/** A Kamailio whose relay listens at this port. */
export async function startKamailio(relay) {
  const folder = mkdtempSync(join(tmpdir(), "weir-kamailio-"));
  const [phones, browsers] = [await freePort(), await freePort()];
  const settings = {
    PHONES: `udp:${LOOPBACK}:${phones}`,
    WEBSOCKET: `tcp:${LOOPBACK}:${browsers}`,
    WEIR: `"udp:${LOOPBACK}:${relay}"`,
  };
  const defined = Object.entries(settings).flatMap(([name, value]) => ["-A", `${name}=${value}`]);
  const logPath = join(folder, "log");
  const run = join(folder, "run");
  mkdirSync(run);
  const log = openSync(logPath, "w");
  const child = spawn(program(), ["-DD", "-E", "-f", CONFIGURATION, ...defined, "-Y", run, "-w", folder], {
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  const ended = once(child, "exit");
  const said = () => readFileSync(logPath, "utf8");
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await waitFor("Kamailio to listen", () => accepts(browsers), { onTimeout: said });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    phones,
    browsers: `ws://${LOOPBACK}:${browsers}`,
    /** Its lines about problems, such as a relay that refuses. */
    complaints: () =>
      said()
        .split("\n")
        .filter((line) => /ERROR|CRITICAL/.test(line) && !BROWSER_GONE.test(line)),
    stop,
  };
}

async function accepts(port) {
  const socket = connect(port, LOOPBACK);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
