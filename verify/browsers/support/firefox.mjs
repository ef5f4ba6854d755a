import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { waitFor } from "./wait.mjs";

const NAMES = process.env.FIREFOX ? [process.env.FIREFOX] : ["firefox-esr", "firefox"];
const STARTUP_MS = 60_000;

const PREFERENCES = {
  // The port is chosen by the system, and written into the profile.
  "marionette.port": 0,
  "media.navigator.streams.fake": true,
  "media.navigator.permission.disabled": true,
  "media.autoplay.default": 0,
  "media.peerconnection.ice.obfuscate_host_addresses": false,
  "app.update.auto": false,
  "browser.shell.checkDefaultBrowser": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "toolkit.telemetry.enabled": false,
};

/** The path of Firefox, if it is installed. */
function findFirefox() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const candidates = NAMES.flatMap((name) =>
    name.includes("/") ? [name] : folders.map((folder) => join(folder, name)),
  );
  return candidates.find(isExecutable);
}

/** An address of this machine that Firefox goes to: it never goes to loopback. */
export function findAddress() {
  const all = Object.values(networkInterfaces()).flat();
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}

/** The reason to skip a test with Firefox, if there is one. */
export function firefoxIsMissing() {
  if (!findFirefox()) return "this machine lacks Firefox (on Debian: apt-get install firefox-esr)";
  return !findAddress() && "this machine lacks an address other than loopback";
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * An installed Firefox, with the part of playwright's browser interface that a participant needs.
 * Playwright drives only builds of its own; every Firefox speaks Marionette. It has one page.
 */
export async function launchFirefox() {
  const profile = mkdtempSync(join(tmpdir(), "weir-firefox-"));
  const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
  writeFileSync(join(profile, "user.js"), lines.join("\n"));
  const child = spawn(findFirefox(), ["--headless", "--marionette", "--no-remote", "--profile", profile], {
    stdio: "ignore",
    env: { ...process.env, HOME: profile, MOZ_HEADLESS: "1" },
  });
  const ended = once(child, "exit");
  const close = async () => {
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 5_000);
    await ended;
    clearTimeout(late);
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const driver = await Marionette.open(await portOf(profile));
    await driver.ask("WebDriver:NewSession", { pageLoadStrategy: "normal" });
    await driver.ask("WebDriver:SetTimeouts", { script: 120_000 });
    return { newContext: async () => new Context(driver), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function portOf(profile) {
  const read = () => {
    try {
      return Number(readFileSync(join(profile, "MarionetteActivePort"), "utf8"));
    } catch {
      return undefined;
    }
  };
  return waitFor("Firefox to listen", read, { timeout: STARTUP_MS });
}

class Context {
  constructor(driver) {
    this.driver = driver;
  }
  async newPage() {
    return new Page(this.driver);
  }
  /** A person leaves by leaving the page; the browser ends with the test. */
  async close() {
    await this.driver.ask("WebDriver:Navigate", { url: "about:blank" });
  }
}

class Page {
  constructor(driver) {
    this.driver = driver;
  }
  on() {}
  goto(url) {
    return this.driver.ask("WebDriver:Navigate", { url });
  }
  waitForFunction(probe) {
    return waitFor("the page", () => this.evaluate(probe));
  }
  async evaluate(action, argument) {
    const script = `return (${action})(...arguments)`;
    const { value } = await this.driver.ask("WebDriver:ExecuteScript", {
      script,
      args: argument === undefined ? [] : [argument],
    });
    return value ?? undefined;
  }
}

/**
 * Firefox's own protocol: each message is its length, a colon, and JSON; answers arrive in the
 * order of their commands.
 */
class Marionette {
  #socket;
  #received = "";
  #waiting = new Map();
  #last = 0;

  static async open(port) {
    const driver = new Marionette();
    driver.#socket = connect(port, "127.0.0.1").setEncoding("latin1");
    driver.#socket.on("data", (text) => driver.#take(text));
    driver.#socket.on("close", () => driver.#end());
    await once(driver.#socket, "connect");
    return driver;
  }

  /** Carries out a command. */
  ask(command, parameters) {
    this.#last += 1;
    const id = this.#last;
    const text = Buffer.from(JSON.stringify([0, id, command, parameters]));
    this.#socket.write(`${text.length}:`);
    this.#socket.write(text);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #take(text) {
    this.#received += text;
    for (;;) {
      const colon = this.#received.indexOf(":");
      const end = colon + 1 + Number(this.#received.slice(0, colon));
      if (colon < 0 || this.#received.length < end) return;
      const message = Buffer.from(this.#received.slice(colon + 1, end), "latin1").toString("utf8");
      this.#received = this.#received.slice(end);
      this.#hear(JSON.parse(message));
    }
  }

  #hear(message) {
    // The first message is a greeting.
    if (!Array.isArray(message)) return;
    const [, id, error, result] = message;
    const { resolve, reject } = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) reject(new Error(`Firefox: ${error.message}`));
    else resolve(result);
  }

  #end() {
    for (const { reject } of this.#waiting.values()) reject(new Error("Firefox has gone"));
    this.#waiting.clear();
  }
}
