// Receivers report on received packets: Chromium numbers every packet of a bundle, audio too, and
// reports each arrival.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { sleep } from "./support/wait.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const SVGA = { resolution: { width: 640, height: 360, frameRate: 15 } };
const WATCH_S = 4;
/** A receiver reports every 50 to 250 ms. */
const REPORTS_MIN = 4 * WATCH_S;

const TRANSPORT_CC = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01";
const DEPENDENCY = "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension";

let world;
before(async () => {
  world = await createWorld();
});
after(() => world?.end());
afterEach(() => world.clear());

/**
 * The reports on downlinks that the server has read so far; undefined for a server without that
 * counter.
 */
async function reports() {
  const text = await (await fetch(`${world.server.url}/metrics`)).text();
  const lines = text
    .split("\n")
    .filter((line) => /^weir_agent_total\{reason="(rtcp_estimate|transport_feedback)"\}/.test(line));
  return lines.length > 0 ? lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0) : undefined;
}

/** The agreed feedback for each section that a participant receives on. */
function agreed(person) {
  return person.run((client) => {
    const { pcManager } = client.room.engine;
    const connection =
      (pcManager.subscriber ?? pcManager.publisher)._pc ?? (pcManager.subscriber ?? pcManager.publisher).pc;
    const sections = connection.remoteDescription.sdp.split(/\r\n(?=m=)/).slice(1);
    return sections
      .filter((section) => section.includes("a=sendonly"))
      .map((section) => ({
        kind: section.slice(2, 7),
        feedback: /a=rtcp-fb:(\d+|\*) transport-cc/.test(section),
        extensions: [...section.matchAll(/a=extmap:\d+ (\S+)/g)].map((match) => match[1]),
      }));
  });
}

describe("feedback", () => {
  for (const single of [true, false]) {
    const title = single ? "one peer connection" : "two peer connections";
    for (const camera of [true, false]) {
      it(`reports on ${camera ? "video and audio" : "audio alone"} over ${title}`, { timeout: 60_000 }, async () => {
        const room = freshRoom("feedback");
        const [ada, bob] = await Promise.all(["ada", "bob"].map((identity) => world.person(identity)));
        const options = { singlePeerConnection: single, videoCaptureDefaults: SVGA };
        await ada.join(room, { options });
        await bob.join(room, { options });
        await ada.publish({ camera });
        await ada.run((client) => client.hum());
        await bob.sees([ada], camera ? ["camera", "microphone"] : ["microphone"]);
        await sleep(1000);
        const before = await reports();
        await sleep(WATCH_S * 1000);
        const seen = (await reports()) - before;
        console.log(`${title}: ${seen} reports in ${WATCH_S} s`);
        if (before !== undefined) assert.ok(seen >= REPORTS_MIN, `${seen} reports`);
        const sections = await agreed(bob);
        assert.equal(sections.length, camera ? 2 : 1);
        for (const { kind, feedback, extensions } of sections) {
          assert.ok(feedback && extensions.includes(TRANSPORT_CC), kind);
          assert.equal(extensions.includes(DEPENDENCY), kind === "video", kind);
        }
      });
    }
  }
});
