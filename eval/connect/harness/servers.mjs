// The servers that are measured: a Weir of this tree, and LiveKit where it is installed.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SERVER_ADDRESS } from "../../../testkit/browsers/network.mjs";
import { startServer } from "../../../testkit/browsers/server.mjs";

const LIVEKIT = process.env.LIVEKIT_SERVER || "livekit-server";
const SECRET = "a-secret-of-at-least-32-characters";

/** The harness expects it at this address and port. */
const LIVEKIT_SETTINGS = `port: 7880
bind_addresses: ["${SERVER_ADDRESS}"]
rtc:
  node_ip: ${SERVER_ADDRESS}
  use_external_ip: false
  udp_port: 7882
  tcp_port: 0
  interfaces:
    includes: [bridge]
keys:
  devkey: ${SECRET}
logging:
  level: error
  pion_level: error
`;

const WEIR = { name: "weir", secret: "secret" };

/** The installed servers, Weir first. Each has a `name` and `start(network)`. */
export function installedServers(folder) {
  const weir = { ...WEIR, start: (network) => start(network, folder, WEIR) };
  const version = livekitVersion();
  if (version === undefined) return [weir];
  const settings = join(folder, "livekit.yaml");
  writeFileSync(settings, LIVEKIT_SETTINGS);
  const livekit = { name: "livekit", secret: SECRET, command: `${LIVEKIT} --config ${settings}` };
  return [weir, { ...livekit, version, start: (network) => start(network, folder, livekit) }];
}

function start(network, folder, { name, secret, command }) {
  return startServer(network, folder, { key: "devkey", secret, command, name, adaptation: true });
}

function livekitVersion() {
  try {
    return execFileSync(LIVEKIT, ["--version"], { encoding: "utf8" }).trim().split("\n")[0];
  } catch {
    return undefined;
  }
}
