import { launchBrowser } from "./browser.mjs";
import { Participant } from "./participant.mjs";
import { startServer } from "./server.mjs";
import { startSite } from "./site.mjs";

/** What a test file needs: a server, the bare page's site and a browser, all ended by `end()`. */
export async function createWorld({ flags } = {}) {
  const server = await startServer();
  const site = await startSite();
  const browser = await launchBrowser(flags);
  const people = new Set();
  const world = {
    server,
    site,
    browser,
    /** Somebody who is nowhere yet. */
    async person(identity) {
      const person = await Participant.open(world, identity);
      people.add(person);
      return person;
    },
    /** Sends everybody home, so that the next test starts in an empty browser. */
    async clear() {
      await Promise.all([...people].map((person) => person.close()));
      people.clear();
    },
    async end() {
      await world.clear();
      await browser.close();
      await site.stop();
      await server.stop();
    },
  };
  return world;
}

let rooms = 0;

/** A room nobody else is in. */
export function freshRoom(purpose) {
  rooms += 1;
  return `${purpose}-${process.pid}-${rooms}`;
}
