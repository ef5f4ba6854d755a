// A participant: a browser of its own, in a network namespace of its own.

import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launchBrowser } from "./browser.mjs";
import { token } from "./token.mjs";

// The server is at an address of a network that only the machine itself has.
const FLAGS = ["--disable-features=LocalNetworkAccessChecks"];
const TYPES = { html: "text/html", js: "text/javascript" };
// Camera and microphone need a secure page, and one of this name is secure from any server.
const SITE = "http://localhost/";
const LAUNCH_MS = 30_000;

export class Person {
  constructor(name, browser, page) {
    Object.assign(this, { name, browser, page, errors: [] });
    page.on("pageerror", (error) => this.errors.push(error.message));
    page.on("console", (message) => message.type() === "error" && this.errors.push(message.text()));
  }

  /**
   * Starts a browser that sees `film` in its camera and is in `namespace`; `flags` are more of its
   * own, and `beforehand` runs in its page first.
   */
  static async open({ name, namespace, film, files, folder, flags: more = [], beforehand }) {
    const program = join(folder, `chromium-${name}`);
    writeFileSync(program, `#!/bin/sh\nexec ip netns exec ${namespace} "\${CHROMIUM:-chromium}" "$@"\n`);
    chmodSync(program, 0o755);
    const camera = film ? [`--use-file-for-fake-video-capture=${film}`] : [];
    const flags = [...FLAGS, ...camera, ...more];
    const browser = await launchBrowser(flags, program);
    try {
      const context = await browser.newContext({ permissions: ["camera", "microphone"] });
      if (beforehand) await context.addInitScript(beforehand);
      const page = await context.newPage();
      await page.route(`${SITE}**`, (route) => serve(route, files));
      const person = new Person(name, browser, page);
      await page.goto(SITE);
      await page.waitForFunction(() => window.participant !== undefined, undefined, { timeout: LAUNCH_MS });
      return person;
    } catch (error) {
      await browser.close();
      throw error;
    }
  }

  join(server, room, { options, passphrase }) {
    const { url, key, secret } = server;
    const how = { url, token: token(room, this.name, { key, secret }), room: options, passphrase };
    return this.page.evaluate((it) => window.participant.join(it), how);
  }

  publish(how) {
    return this.page.evaluate((it) => window.participant.publish(it), how);
  }

  receives(names, height) {
    return this.page.evaluate(([who, least]) => window.participant.receives(who, least), [names, height]);
  }

  take() {
    return this.page.evaluate(() => window.participant.take());
  }

  close() {
    return this.browser.close().catch(() => {});
  }
}

function serve(route, files) {
  const path = new URL(route.request().url()).pathname.slice(1) || "index.html";
  const body = files.get(path);
  if (body === undefined) return route.fulfill({ status: 404 });
  return route.fulfill({ status: 200, contentType: TYPES[path.split(".").pop()] ?? "text/plain", body });
}
