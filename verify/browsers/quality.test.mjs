// Tests of the meeting page: the quality of each video, and videos that the server holds back.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { SignalResponse, StreamState, StreamStateUpdate } from "@livekit/protocol";
import { launchBrowser } from "../../testkit/browsers/browser.mjs";
import { pageIsMissing, startServer } from "./support/server.mjs";
import { Visitor } from "./support/visitor.mjs";
import { freshRoom } from "./support/world.mjs";

const OWN_VIEW = "**/api/receivers/me";

const world = {};
before(async () => {
  world.server = await startServer();
  world.browser = await launchBrowser();
});
after(async () => {
  await world.browser?.close();
  await world.server?.stop();
});

/** Ada and Bob in a room of their own; Ada's page is opened with `options`. */
async function meeting(options) {
  const room = freshRoom("quality");
  const [ada, bob] = [await Visitor.open(world, room, options), await Visitor.open(world, room)];
  await ada.enter("Ada");
  await bob.enter("Bob");
  await ada.sees("Bob");
  return { ada, leave: () => Promise.all([ada.close(), bob.close()]) };
}

const panel = (visitor, name) => visitor.page.getByRole("region", { name: `Quality: ${name}` });

describe("the quality of a picture", { skip: await pageIsMissing(), timeout: 180_000 }, () => {
  let ada;
  let leave;
  before(async () => {
    ({ ada, leave } = await meeting());
  });
  after(() => leave?.());
  afterEach(async () => {
    await ada.page.keyboard.press("Escape");
    await ada.page.unroute(OWN_VIEW);
  });

  it("is shown by key for all, as received, as sent and as estimated by the server", async () => {
    await ada.page.keyboard.press("q");
    await panel(ada, "Bob")
      .getByText(/^\d+×\d+$/)
      .first()
      .waitFor();
    await panel(ada, "Bob")
      .getByText(/^[1-9]\d* fps$/)
      .waitFor();
    await panel(ada, "Bob")
      .getByText(/^[\d.]+ [kM]bit\/s$/)
      .first()
      .waitFor();
    await panel(ada, "Bob").getByText("VP8").waitFor();
    await panel(ada, "Bob").getByRole("region", { name: "The server's estimate" }).waitFor();
    await panel(ada, "You").getByRole("list", { name: "Versions sent" }).getByText(/fps/).first().waitFor();
    await ada.page.keyboard.press("Escape");
    await panel(ada, "Bob").waitFor({ state: "detached" });
    assert.deepEqual(ada.errors, []);
  });

  it("is reached by the keyboard alone", async () => {
    const button = ada.page.getByRole("button", { name: "Quality of Bob" });
    await button.focus();
    await ada.page.keyboard.press("Enter");
    await panel(ada, "Bob").waitFor();
    assert.equal(await button.getAttribute("aria-pressed"), "true");
    assert.equal(await panel(ada, "You").count(), 0, "only the one that was asked for");
    await ada.page.keyboard.press("Enter");
    await panel(ada, "Bob").waitFor({ state: "detached" });
  });

  it("says that the connection carries less than is wanted", async () => {
    const track = await ada.tile("Bob").getAttribute("data-track");
    await ada.page.route(OWN_VIEW, (route) => route.fulfill({ json: narrowDownlink(track) }));
    await ada.page.getByRole("button", { name: "Quality of Bob" }).click();
    await panel(ada, "Bob").getByText("Reduced to fit your connection").waitFor();
    await panel(ada, "Bob").getByText("480 kbit/s", { exact: true }).waitFor();
    await panel(ada, "Bob").getByRole("listitem").filter({ hasText: "granted" }).getByText("320×180").waitFor();
  });

  it("works with a server that tells nothing, and asks it rarely", async () => {
    let asked = 0;
    await ada.page.route(OWN_VIEW, (route) => {
      asked += 1;
      return route.fulfill({ status: 404 });
    });
    await ada.page.keyboard.press("q");
    await panel(ada, "Bob")
      .getByText(/^[1-9]\d* fps$/)
      .waitFor();
    await ada.page.waitForTimeout(2500);
    assert.equal(asked, 1);
    assert.equal(await panel(ada, "Bob").getByRole("region").count(), 0);
  });
});

describe("a picture the server holds back", { skip: await pageIsMissing(), timeout: 120_000 }, () => {
  it("is covered, not frozen, until there is a new one", async () => {
    const wire = new Wire();
    const { ada, leave } = await meeting({ prepare: (page) => wire.tap(page) });
    const track = await ada.tile("Bob").getAttribute("data-track");
    const words = ada.tile("Bob").getByText("Picture paused");
    wire.say(track, StreamState.PAUSED);
    await words.waitFor();
    assert.ok(await ada.tile("Bob").locator("video").isVisible(), "the video stays, or it would not be sent again");
    await ada.page.keyboard.press("q");
    await panel(ada, "Bob").getByText("Paused: your connection is too slow").waitFor();
    await ada.page.keyboard.press("q");
    wire.say(track, StreamState.ACTIVE);
    await words.waitFor({ state: "detached" });
    await ada.sees("Bob");
    await leave();
  });
});

/** A proxy between a page and its server, which can send the server's messages itself. */
class Wire {
  async tap(page) {
    await page.routeWebSocket(/\/rtc/, (toPage) => {
      const server = toPage.connectToServer();
      server.onMessage((message) => {
        this.#learn(message);
        toPage.send(message);
      });
      this.toPage = toPage;
    });
  }

  /** The participant of each track. */
  owners = new Map();

  #learn(message) {
    if (typeof message === "string") return;
    const { case: kind, value } = SignalResponse.fromBinary(new Uint8Array(message)).message;
    const people = kind === "join" ? value.otherParticipants : kind === "update" ? value.participants : [];
    for (const person of people) for (const { sid } of person.tracks) this.owners.set(sid, person.sid);
  }

  say(trackSid, state) {
    const participantSid = this.owners.get(trackSid);
    const update = new StreamStateUpdate({ streamStates: [{ participantSid, trackSid, state }] });
    const response = new SignalResponse({ message: { case: "streamStateUpdate", value: update } });
    this.toPage.send(Buffer.from(response.toBinary()));
  }
}

/** A server's view of a downlink that carries the small version only. */
function narrowDownlink(track) {
  const layer = (encoding) => ({ encoding, spatial: 0, temporal: 0, width: 320 << encoding, height: 180 << encoding });
  const small = { encoding: 0, spatial: null, temporal: null };
  const wanted = { width: 640, height: 360, encoding_max: null, spatial_max: null };
  return {
    downlink: {
      target_bps: 480_000,
      sendable_bps: 480_000,
      allocated_bps: 130_000,
      wanted_bps: 900_000,
      limit: "delay",
    },
    subscriptions: [
      { track, state: "sent", wanted, granted: small, current: small, arrives: [layer(0), layer(1), layer(2)] },
    ],
  };
}
