// The operator's page, with a call beside it.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { launchBrowser } from "../../../testkit/browsers/browser.mjs";
import { token } from "../../../testkit/browsers/token.mjs";
import { pageIsMissing, startServer } from "../support/server.mjs";
import { Visitor } from "../support/visitor.mjs";
import { freshRoom } from "../support/world.mjs";

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };
const READ = { roomJoin: false, roomAdmin: true, roomList: true };
const ACT = { ...READ, roomCreate: true };
const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const HOSTILE = "<img src=x onerror=alert(1)>\u202eevil\u0007";

const shots = mkdtempSync(join(tmpdir(), "weir-admin-"));
const world = { open: [] };
before(async () => {
  world.server = await startServer();
  world.browser = await launchBrowser();
});
after(async () => {
  await world.browser?.close();
  await world.server?.stop();
});
afterEach(async () => {
  await Promise.all(world.open.splice(0).map((it) => it.close()));
});

/** A person in a room, by identity. The token has the name as well, so nothing is typed. */
async function enter(room, identity) {
  const visitor = await Visitor.open(world, room, { token: token(room, identity) });
  world.open.push(visitor);
  await visitor.page.getByRole("button", { name: "Join the meeting" }).click();
  await visitor.inside();
  return visitor;
}

/** Two people in a call. */
async function call() {
  const room = freshRoom("admin");
  const people = [await enter(room, "ada"), await enter(room, "ben")];
  await people[1].sees("ada");
  return { room, people };
}

/** The operator's page with a token of these grants. */
async function operator(grants, { viewport = WIDE, colorScheme = "light", room = "", path = "" } = {}) {
  const context = await world.browser.newContext({ viewport, colorScheme });
  world.open.push(context);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(`${world.server.url}/admin#token=${token(room, "olga", { grants })}`);
  if (path) {
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    await page.evaluate((hash) => {
      window.location.hash = hash;
    }, path);
  }
  return { page, errors };
}

/** Fails on what axe calls serious or critical. */
async function isAccessible(page) {
  // The page's policy runs no script but its own.
  const found = await page.evaluate(async (source) => {
    new Function(source).call(window);
    const { violations } = await window.axe.run(document);
    return violations.map(({ id, impact, nodes }) => ({ id, impact, where: nodes.map((node) => node.html) }));
  }, AXE);
  const serious = found.filter(({ impact }) => ["serious", "critical"].includes(impact));
  assert.deepEqual(serious, []);
}

const participantPath = (room, identity) => `#/rooms/${encodeURIComponent(room)}/${encodeURIComponent(identity)}`;

describe("the operator's page", { skip: await pageIsMissing(), timeout: 240_000 }, () => {
  it("finds a person by identity, and shows the verdict, the layers and the timeline", async () => {
    const { room } = await call();
    const { page, errors } = await operator(READ);
    await page.getByRole("link", { name: "People" }).click();
    assert.equal(page.url(), `${world.server.url}/admin#/people`, "the address has no token");
    await page.getByLabel("Search people by identity or name").fill("BEN");
    await page.getByRole("row").filter({ hasText: room }).getByRole("link", { name: "ben" }).click();
    await page.getByRole("heading", { name: "ben" }).waitFor();
    await page.locator("#verdict ~ .admin-summary").getByText(/found/).waitFor();
    const received = page.getByRole("region", { name: "Receives" });
    await received
      .getByRole("row")
      .filter({ hasText: "camera" })
      .getByText(/encoding \d.*/)
      .first()
      .waitFor();
    await received.getByText("Estimate").waitFor();
    await page.getByRole("img", { name: /^Rates to the participant; now Estimate \d/ }).waitFor();
    assert.equal(await page.getByRole("button", { name: /Remove|Mute/ }).count(), 0, "the token only reads");
    await page.waitForTimeout(12_000);
    await page.screenshot({ path: join(shots, "participant-light.png"), fullPage: true });
    console.log(`screenshots are in ${shots}`);
    await isAccessible(page);
    assert.deepEqual(errors, []);
    const dark = await operator(READ, { colorScheme: "dark", path: participantPath(room, "ben") });
    await dark.page.getByRole("img", { name: /^Rates/ }).waitFor();
    await dark.page.screenshot({ path: join(shots, "participant-dark.png"), fullPage: true });
    await isAccessible(dark.page);
    const phone = await operator(READ, { viewport: NARROW, path: participantPath(room, "ben") });
    await phone.page.getByRole("img", { name: /^Rates/ }).waitFor();
    await phone.page.screenshot({ path: join(shots, "participant-phone.png"), fullPage: true });
    await isAccessible(phone.page);
    const width = await phone.page.evaluate(() => document.documentElement.scrollWidth);
    assert.equal(width, NARROW.width, "nothing reaches out of the screen");
  });

  it("closes a room and mutes and removes people with the grant, and writes it down", async () => {
    const { room, people } = await call();
    const { page, errors } = await operator(ACT, { path: participantPath(room, "ada") });
    await page.getByRole("button", { name: "Mute microphone" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Mute microphone" }).click();
    await people[1].tile("ada").getByText("Microphone off").waitFor();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.screenshot({ path: join(shots, "confirm.png") });
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await people[1].sees("ada");
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await people[1].tile("ada").waitFor({ state: "detached" });
    await page.getByText("This participant is not in the room now.").waitFor();
    await page.getByRole("link", { name: room }).click();
    await page.getByRole("button", { name: "Close the room" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Close the room" }).click();
    await people[1].control("Microphone").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Audit" }).click();
    for (const words of ["closed the room", "removed ada", "muted a track of ada"]) {
      const line = page.getByRole("row").filter({ hasText: room }).filter({ hasText: words });
      await line.filter({ hasText: "olga" }).filter({ hasText: "done" }).waitFor();
    }
    await isAccessible(page);
    await page.screenshot({ path: join(shots, "audit.png") });
    assert.deepEqual(errors, []);
  });

  it("shows hostile names as text", async () => {
    const room = freshRoom("admin");
    await enter(room, HOSTILE);
    const { page, errors } = await operator(READ, { path: `#/rooms/${room}` });
    await page.getByRole("link", { name: "<img src=x onerror=alert(1)>\\u{202e}evil\\u{7}" }).click();
    await page.getByRole("heading", { name: "<img src=x" }).waitFor();
    await page.locator("#verdict ~ .admin-summary").waitFor();
    assert.equal(await page.locator("main img").count(), 0);
    assert.doesNotMatch(await page.textContent("main"), /\p{Cc}|\p{Cf}/u);
    assert.deepEqual(errors, []);
  });

  it("lists rooms in light, in dark and on a phone, and is used with the keyboard alone", async () => {
    const { room } = await call();
    for (const [name, options] of [
      ["light", {}],
      ["dark", { colorScheme: "dark" }],
      ["phone", { viewport: NARROW, colorScheme: "dark" }],
    ]) {
      const { page } = await operator(READ, options);
      await page.getByRole("link", { name: room }).waitFor();
      await page.screenshot({ path: join(shots, `rooms-${name}.png`) });
      await isAccessible(page);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.equal(width, (options.viewport ?? WIDE).width, "nothing reaches out of the screen");
    }
    const { page } = await operator(READ);
    const link = page.getByRole("link", { name: room });
    await link.waitFor();
    for (let presses = 0; presses < 30; presses++) {
      await page.keyboard.press("Tab");
      if (await link.evaluate((it) => it === document.activeElement)) break;
    }
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: room }).waitFor();
    await page.evaluate(() => {
      window.location.hash = "#/places";
    });
    await page.getByRole("table", { name: "Parts" }).waitFor();
    await page.screenshot({ path: join(shots, "places.png") });
    await isAccessible(page);
  });

  it("refuses a participant's token, and a stranger's", async () => {
    const { page } = await operator({}, { room: "lobby" });
    await page.getByRole("alert").getByText("This token does not give access.").waitFor();
    await page.getByLabel("Access token").fill("x.y.z");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("alert").getByText("The server does not accept this token.").waitFor();
    await page.screenshot({ path: join(shots, "refused.png") });
    await isAccessible(page);
    const other = await operator({ roomAdmin: true }, { room: "lobby", path: "#/rooms/attic" });
    await other.page.getByRole("alert").getByText("This token does not give access.").waitFor();
  });
});
