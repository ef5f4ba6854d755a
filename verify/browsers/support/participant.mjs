import { token } from "../../../testkit/browsers/token.mjs";
import { waitFor } from "./wait.mjs";

const wsUrl = (url) => url.replace(/^http/, "ws");

/** A person in a room: one bare page of a browser, driven from the test. */
export class Participant {
  constructor(world, identity, context, page) {
    Object.assign(this, { world, identity, context, page, errors: [] });
    page.on("pageerror", (error) => this.errors.push(error.message));
  }

  /**
   * Opens the bare page in a context of its own, so that it has its own renderer and can be killed
   * alone.
   */
  static async open(world, identity) {
    const context = await world.browser.newContext({ permissions: ["camera", "microphone"] });
    if (world.beforehand) await context.addInitScript(world.beforehand);
    const page = await context.newPage();
    const participant = new Participant(world, identity, context, page);
    await page.goto(world.site.url);
    await page.waitForFunction(() => window.client !== undefined);
    return participant;
  }

  /** Joins, and fails where the server refuses. */
  async join(room, options = {}) {
    const outcome = await this.tryJoin(room, options);
    if (outcome.error) throw new Error(`${this.identity} could not join: ${JSON.stringify(outcome.error)}`);
    return outcome;
  }

  /** Joins, and returns the result: `{ identity, sid }` or `{ error }`. */
  tryJoin(room, { token: given, grant = {}, options, connect } = {}) {
    return this.page.evaluate((how) => window.client.join(how), {
      url: wsUrl(this.world.server.url),
      token: given ?? token(room, this.identity, grant),
      room: options,
      connect,
    });
  }

  publish(how) {
    return this.page.evaluate((it) => window.client.publish(it), how);
  }

  /** Runs `action(client, argument)` in the page. */
  run(action, argument) {
    return this.page.evaluate(
      ([source, value]) => new Function(`return (${source})`)()(window.client, value),
      [action.toString(), argument],
    );
  }

  /** Waits until `probe(client, argument)` is truthy in the page, and returns it. */
  until(what, probe, argument, timeout = 15_000) {
    return waitFor(`${this.identity} to ${what}`, () => this.run(probe, argument), {
      timeout,
      onTimeout: async () => JSON.stringify(await this.run((client) => client.snapshot()), null, 1),
    });
  }

  stats() {
    return this.page.evaluate(() => window.client.stats());
  }

  /** Waits until everybody in `others` is seen with a live camera and microphone. */
  async sees(others, sources = ["camera", "microphone"], timeout = 20_000) {
    for (const { identity } of others) {
      for (const source of sources) {
        const seen = (client, [who, what]) => client.publication(who, what)?.isSubscribed;
        await this.until(`see ${identity}'s ${source}`, seen, [identity, source], timeout);
      }
    }
  }

  /** Waits until frames of `other`'s `source` are decoded that were not there before. */
  async watches(other, source = "camera", timeout = 20_000) {
    const decoded = async () =>
      (await this.stats()).received.find(
        (row) => row.from === other.identity && row.source === source && row.kind === "video",
      )?.framesDecoded ?? 0;
    // Counters restart with a new stream, so compare with the lowest value seen.
    let least = await decoded();
    await waitFor(
      `${this.identity} to decode ${other.identity}'s ${source}`,
      async () => {
        const now = await decoded();
        least = Math.min(least, now);
        return now >= least + 10;
      },
      {
        timeout,
        interval: 250,
        onTimeout: async () => JSON.stringify(await this.run((client) => client.snapshot()), null, 1),
      },
    );
  }

  /** Kills the renderer, as a crash or an empty battery would: the server gets no message. */
  async kill() {
    const devtools = await this.context.newCDPSession(this.page);
    const crashed = new Promise((resolve) => this.page.once("crash", resolve));
    devtools.send("Page.crash").catch(() => {});
    await crashed;
  }

  close() {
    return this.context.close().catch(() => {});
  }
}
