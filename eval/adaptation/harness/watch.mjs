// Weir's estimate of each receiver's downlink, asked from a process in the server's own namespace.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { token } from "../../../testkit/browsers/token.mjs";

const EVERY_MS = 200;

/**
 * Asks until `stop()`, which returns `[{ time, receivers }]`: time as in all of the record,
 * receivers as the server wrote them.
 */
export function watch(network, server, room) {
  const { url, key, secret } = server;
  const admin = token(room, "harness", { key, secret, grants: { roomJoin: false, roomAdmin: true } });
  const question = `${url.replace(/^ws/, "http")}/api/receivers`;
  const line = ["netns", "exec", network.namespace("hub"), process.execPath, fileURLToPath(import.meta.url)];
  const child = spawn("ip", [...line, question, admin], { stdio: ["ignore", "pipe", "inherit"], detached: true });
  const answers = [];
  createInterface({ input: child.stdout }).on("line", (answer) => answers.push(JSON.parse(answer)));
  const ended = new Promise((resolve) => {
    child.once("exit", resolve);
    child.once("error", resolve);
  });
  return {
    async stop() {
      child.kill("SIGTERM");
      await ended;
      return answers;
    },
  };
}

async function askOnAndOn(question, admin) {
  for (;;) {
    const time = performance.timeOrigin + performance.now();
    const answer = await fetch(question, { headers: { Authorization: `Bearer ${admin}` } }).catch(() => undefined);
    if (answer?.ok) {
      const { receivers } = await answer.json();
      console.log(JSON.stringify({ time, receivers }));
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await askOnAndOn(process.argv[2], process.argv[3]);
