// The meeting page itself, as the server under test delivers it.

import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { launchBrowser } from "../../testkit/browsers/browser.mjs";
import { token } from "../../testkit/browsers/token.mjs";
import { pageIsMissing, startServer } from "./support/server.mjs";
import { refusedCamera, Visitor } from "./support/visitor.mjs";
import { freshRoom } from "./support/world.mjs";

const NARROW = { width: 390, height: 844 };
const shots = mkdtempSync(join(tmpdir(), "weir-page-"));

const world = { people: [] };
before(async () => {
  world.server = await startServer();
  world.browser = await launchBrowser();
});
after(async () => {
  await world.browser?.close();
  await world.server?.stop();
});
afterEach(async () => {
  await Promise.all(world.people.splice(0).map((visitor) => visitor.close()));
});

async function visit(room, options) {
  const visitor = await Visitor.open(world, room, options);
  world.people.push(visitor);
  return visitor;
}

async function meeting(...names) {
  const room = freshRoom("page");
  const people = [];
  for (const name of names) {
    const visitor = await visit(room);
    await visitor.enter(name);
    people.push(visitor);
  }
  return people;
}

describe("the meeting page", { skip: await pageIsMissing(), timeout: 180_000 }, () => {
  it("brings two people together by name", async () => {
    const [ada, bob] = await meeting("Ada Lovelace", "Bob");
    await ada.sees("Bob");
    await bob.sees("Ada Lovelace");
    assert.equal(await ada.page.textContent("[data-testid=count]"), "2");
    await ada.page.screenshot({ path: join(shots, "gallery.png") });
    console.log(`screenshots are in ${shots}`);
    assert.deepEqual([ada.errors, bob.errors], [[], []], "errors on the pages");
    assert.deepEqual(ada.foreignRequests, [], "requests to other servers");
  });

  it("carries chat, and counts unread messages", async () => {
    const [ada, bob] = await meeting("Ada", "Bob");
    await ada.says("Shall we start?");
    await bob.page.getByRole("button", { name: "Chat, 1 unread" }).click();
    await bob.page.getByRole("log").getByText("Shall we start?").waitFor();
    await bob.writes("Yes.");
    await ada.page.getByRole("log").getByText("Yes.").waitFor();
    await ada.page.screenshot({ path: join(shots, "chat.png") });
  });

  it("shows who has muted themselves, by button and by key", async () => {
    const [ada, bob] = await meeting("Ada", "Bob");
    const muted = bob.tile("Ada").getByText("Microphone off");
    await ada.control("Microphone").click();
    await muted.waitFor();
    await ada.page.keyboard.press("m");
    await muted.waitFor({ state: "detached" });
    await ada.control("Camera").click();
    await bob.tile("Ada").locator("video").waitFor({ state: "detached" });
  });

  it("gives a shared screen the large place", async () => {
    const [ada, bob] = await meeting("Ada", "Bob");
    await ada.control("Share screen").click();
    const screen = bob.page.locator(".focus-main [data-source=screen_share]");
    await screen.waitFor();
    await bob.playing(screen.locator("video"));
    await bob.page.screenshot({ path: join(shots, "screen.png") });
    await ada.control("Share screen").click();
    await screen.waitFor({ state: "detached" });
  });

  it("says goodbye, and lets people back in", async () => {
    const [ada, bob] = await meeting("Ada", "Bob");
    await ada.page.getByRole("button", { name: "Leave" }).click();
    await ada.page.getByRole("heading", { name: "You left the meeting" }).waitFor();
    await ada.page.screenshot({ path: join(shots, "left.png") });
    await bob.tile("Ada").waitFor({ state: "detached" });
    await ada.page.getByRole("button", { name: "Rejoin" }).click();
    await ada.page.getByRole("button", { name: "Join the meeting" }).click();
    await bob.sees("Ada");
  });

  it("fits a phone", async () => {
    const room = freshRoom("page");
    const [ada, bob] = [await visit(room, { viewport: NARROW }), await visit(room)];
    await ada.page.screenshot({ path: join(shots, "phone-lobby.png") });
    for (const [visitor, name] of [
      [ada, "Ada"],
      [bob, "Bob"],
    ]) {
      await visitor.enter(name);
    }
    await ada.sees("Bob");
    await ada.page.screenshot({ path: join(shots, "phone.png") });
    const { scrollWidth, scrollHeight } = await ada.page.evaluate(() => {
      const { scrollWidth, scrollHeight } = document.documentElement;
      return { scrollWidth, scrollHeight };
    });
    assert.deepEqual({ width: scrollWidth, height: scrollHeight }, NARROW, "nothing reaches out of the screen");
    for (const button of await ada.page.locator(".controls button:visible").all()) {
      const { x, width } = await button.boundingBox();
      assert.ok(x >= 0 && x + width <= NARROW.width, "every control is on the screen");
    }
  });

  it("can be joined and left with the keyboard alone", async () => {
    const ada = await visit(freshRoom("page"));
    await ada.page.locator("input[name=name]:focus").waitFor();
    await ada.page.keyboard.type("Ada");
    await ada.page.locator("button[type=submit]:enabled").waitFor();
    await ada.page.keyboard.press("Enter");
    const leave = ada.page.getByRole("button", { name: "Leave" });
    await leave.waitFor();
    for (let presses = 0; presses < 20; presses++) {
      await ada.page.keyboard.press("Tab");
      if (await leave.evaluate((button) => button === document.activeElement)) break;
    }
    await ada.page.keyboard.press("Enter");
    await ada.page.getByRole("heading", { name: "You left the meeting" }).waitFor();
  });
});

describe("the meeting page in trouble", { skip: await pageIsMissing(), timeout: 120_000 }, () => {
  it("asks for a token where the server gives none out", async () => {
    const ada = await visit(freshRoom("page"));
    await ada.page.route("**/api/dev-token", (route) => route.fulfill({ status: 404 }));
    await ada.tryToEnter("Ada");
    await ada.alert("This server lets people in by token");
    await ada.page.getByLabel("Access token").fill(token(ada.room, "ada", { name: "Ada" }));
    await ada.page.getByRole("button", { name: "Join the meeting" }).click();
    await ada.inside();
  });

  it("takes a token from the fragment, and out of the address", async () => {
    const room = freshRoom("page");
    const ada = await visit(room, { token: token(room, "ada", { name: "Ada of the token" }) });
    assert.equal(await ada.page.evaluate(() => window.location.hash), "");
    assert.equal(await ada.page.getByLabel("Your name").inputValue(), "Ada of the token");
    await ada.page.getByRole("button", { name: "Join the meeting" }).click();
    await ada.inside();
  });

  it("says that a token has expired", async () => {
    const room = freshRoom("page");
    const ada = await visit(room, { token: token(room, "ada", { lifetime: -7200 }) });
    await ada.page.getByRole("button", { name: "Join the meeting" }).click();
    await ada.alert("Your token has expired");
  });

  it("says that a token is for another room", async () => {
    const ada = await visit(freshRoom("page"), { token: token("elsewhere", "ada") });
    await ada.page.getByRole("button", { name: "Join the meeting" }).click();
    await ada.alert("Your token is for the room “elsewhere”");
  });

  it("says that the server does not accept a token", async () => {
    const room = freshRoom("page");
    const ada = await visit(room, { token: token(room, "ada", { secret: "guess" }) });
    await ada.page.getByRole("button", { name: "Join the meeting" }).click();
    await ada.page.getByRole("heading", { name: "You were not let in" }).waitFor();
  });

  it("says that the server does not answer", async () => {
    const ada = await visit(freshRoom("page"));
    await ada.page.route("**/api/dev-token", (route) => route.abort());
    await ada.tryToEnter("Ada");
    await ada.alert("The server does not answer");
  });

  it("says that the same person came in elsewhere", async () => {
    const room = freshRoom("page");
    const [first, second] = [
      await visit(room, { token: token(room, "ada") }),
      await visit(room, { token: token(room, "ada") }),
    ];
    for (const visitor of [first, second]) {
      await visitor.page.getByRole("button", { name: "Join the meeting" }).click();
      await visitor.inside();
    }
    await first.page.getByRole("heading", { name: "You joined from somewhere else" }).waitFor();
  });

  it("lets people in whose camera is refused, and says so", async () => {
    const room = freshRoom("page");
    const ada = await visit(room, { camera: [refusedCamera] });
    await ada.alert("Your browser is not allowed to use the camera");
    await ada.enter("Ada");
    await ada.page.getByText("Your browser is not allowed to use the camera").waitFor();
    const bob = await visit(room);
    await bob.enter("Bob");
    await bob.tile("Ada").locator(".avatar").waitFor();
  });
});

describe("the meeting page over HTTPS", { skip: await pageIsMissing(), timeout: 120_000 }, () => {
  const secure = {};
  before(async () => {
    secure.server = await startServer({ tls: true });
    // Nobody has signed the certificate.
    secure.browser = await launchBrowser(["--ignore-certificate-errors"]);
  });
  after(async () => {
    await secure.browser?.close();
    await secure.server?.stop();
  });

  it("comes by HTTP/2, and brings two people together within its policy", async () => {
    const blocked = [];
    const prepare = (page) =>
      page.on("console", (message) => {
        if (message.text().includes("Content Security Policy")) blocked.push(message.text());
      });
    const room = freshRoom("https");
    const [ada, bob] = [await Visitor.open(secure, room, { prepare }), await Visitor.open(secure, room, { prepare })];
    const protocol = () => performance.getEntriesByType("navigation")[0].nextHopProtocol;
    assert.equal(await ada.page.evaluate(protocol), "h2");
    await ada.enter("Ada");
    await bob.enter("Bob");
    await ada.sees("Bob");
    await bob.sees("Ada");
    await ada.says("Is this encrypted?");
    await bob.page.getByRole("button", { name: "Chat, 1 unread" }).click();
    assert.deepEqual(blocked, []);
    assert.deepEqual([ada.errors, bob.errors], [[], []], "errors on the pages");
    await Promise.all([ada.close(), bob.close()]);
  });
});
