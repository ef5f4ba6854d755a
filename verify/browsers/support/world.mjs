import assert from "node:assert/strict";
import { launchBrowser } from "../../../testkit/browsers/browser.mjs";
import { Participant } from "./participant.mjs";
import { startServer } from "./server.mjs";
import { startSite } from "./site.mjs";

/**
 * The environment of a test file: a server, the bare page's site and a browser, all ended by
 * `end()`. `settings` are for the server, `flags` for the browser, `beforehand` runs in each page
 * before anything else does, and `script` is what the page runs.
 */
export async function createWorld({ flags, beforehand, script, ...settings } = {}) {
  const parts = [];
  const end = async () => {
    // The browser first: it holds connections to the other two.
    for (const stop of parts.reverse().splice(0)) await stop();
  };
  try {
    const server = await startServer(settings);
    parts.push(() => server.stop());
    const site = await startSite(script);
    parts.push(() => site.stop());
    const browser = await launchBrowser(flags);
    parts.push(() => browser.close());
    return { ...populate({ server, site, browser, beforehand }), end };
  } catch (error) {
    // A part that is still running would keep the process alive and block the test run.
    await end();
    throw error;
  }
}

function populate(parts) {
  const people = new Set();
  return {
    ...parts,
    /** A person who has not joined yet. */
    async person(identity) {
      const person = await Participant.open(parts, identity);
      people.add(person);
      return person;
    },
    /** One of the server's metrics, by the beginning of its line. */
    async figure(name) {
      const text = await fetch(`${parts.server.url}/metrics`).then((answer) => answer.text());
      const line = text.split("\n").find((it) => it.startsWith(name));
      assert.ok(line, `there is no ${name} in /metrics`);
      return Number(line.slice(line.lastIndexOf(" ") + 1));
    },
    /** Sends everybody home, so that the next test starts in an empty browser. */
    async clear() {
      await Promise.all([...people].map((person) => person.close()));
      people.clear();
    },
  };
}

let rooms = 0;

/** A room nobody else is in. */
export function freshRoom(purpose) {
  rooms += 1;
  return `${purpose}-${process.pid}-${rooms}`;
}
