// The page of viewers without a token: it plays a room by WHEP.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { launchBrowser } from "../../../testkit/browsers/browser.mjs";
import { pageIsMissing, startServer } from "../support/server.mjs";
import { Visitor } from "../support/visitor.mjs";
import { waitFor } from "../support/wait.mjs";
import { freshRoom } from "../support/world.mjs";

const world = {};
before(async () => {
  world.server = await startServer({ configuration: 'room: {watch: ["show*"]}\n' });
  world.browser = await launchBrowser();
});
after(async () => {
  await world.browser?.close();
  await world.server?.stop();
});

async function viewer(room) {
  const context = await world.browser.newContext();
  const page = await context.newPage();
  await page.goto(`${world.server.url}/watch/${encodeURIComponent(room)}`);
  return new Visitor(room, context, page);
}

const video = (watching) => watching.page.locator("video");
const decoded = (watching) => video(watching).evaluate((it) => it.getVideoPlaybackQuality().totalVideoFrames);

/** Waits until the viewer has decoded frames that were not there before, and shows them. */
async function moves(watching) {
  const before = await decoded(watching);
  await waitFor("frames that are decoded", async () => (await decoded(watching)) >= before + 10);
  await watching.playing(video(watching));
}

describe("the page of viewers", { skip: await pageIsMissing(), timeout: 120_000 }, () => {
  it("shows a room's publisher, who does not see the viewer", async () => {
    const room = freshRoom("show.");
    const early = await viewer(room);
    await early.page.getByText("Nobody is on air yet").waitFor();
    const ada = await Visitor.open(world, room);
    await ada.enter("Ada");
    await moves(early);
    assert.equal(await ada.page.textContent("[data-testid=count]"), "1");
    await early.page.getByRole("button", { name: "Turn the sound on" }).click();
    assert.equal(await video(early).evaluate((it) => it.muted), false);
    assert.deepEqual(early.errors, []);
    await Promise.all([early.close(), ada.close()]);
  });

  it("goes on with a publisher that comes back", async () => {
    const room = freshRoom("show");
    const ada = await Visitor.open(world, room);
    await ada.enter("Ada");
    const watching = await viewer(room);
    await moves(watching);
    await ada.close();
    const again = await Visitor.open(world, room);
    await again.enter("Ada");
    await moves(watching);
    await Promise.all([watching.close(), again.close()]);
  });

  it("says that a room is not open", async () => {
    const watching = await viewer(freshRoom("closed"));
    await watching.page.getByText("not open to viewers").waitFor();
    await watching.close();
  });
});
