// Free ports, for servers that a test starts.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

// Outside of the range from which the system takes ports for connections and for port 0: one of
// those may be given away again before the server binds it, and a client that asks whether the
// server is up can even connect to itself.
const [FIRST, COUNT] = [22_000, 8_000];
// Each process begins elsewhere. With this prime, those with neighbouring numbers are far apart.
const STRIDE = 4_951;

let next = process.pid * STRIDE;

/** A port that nobody has for TCP or for UDP. */
export async function freePort() {
  for (let tries = 0; tries < COUNT; tries++) {
    const port = FIRST + (next++ % COUNT);
    if (await isFree(port)) return port;
  }
  throw new Error("there is no port that is free for both TCP and UDP");
}

/** Whether both can be bound, at all addresses. */
async function isFree(port) {
  const tcp = createServer();
  const udp = createSocket("udp4");
  const bound = await Promise.allSettled([
    began(tcp, () => tcp.listen(port, "0.0.0.0")),
    began(udp, () => udp.bind(port, "0.0.0.0")),
  ]);
  await Promise.all([tcp, udp].map((socket) => new Promise((resolve) => socket.close(resolve))));
  return bound.every(({ status }) => status === "fulfilled");
}

function began(socket, begin) {
  begin();
  return once(socket, "listening");
}
