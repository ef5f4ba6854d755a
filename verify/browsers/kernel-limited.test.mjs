// Three Chromium without encryption meet through the kernel, and the downlink of one of them
// becomes too narrow for both videos: it gets smaller ones or fewer frames a second, since sent and
// arrived packets are reported although no process has seen them.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { layCable } from "../../testkit/browsers/cable.mjs";
import { KernelMeeting, kernelIsMissing } from "./support/kernel.mjs";
import { inSomeWindow, show } from "./support/measure.mjs";
import { sleep } from "./support/wait.mjs";

const NAMES = ["ada", "bob", "cat"];
/**
 * The participant behind a narrow cable. Chromium's own camera takes 200 kbit/s of the 600 that a
 * video may have, and audio takes 56.
 */
const LIMITED = "cat";
const RATE = 400_000;
const FRAMES = 15;
/** Per second, of a video that counts as shown. */
const LEAST_FRAMES = 3;
const ROUND_TRIP_MS = 20;
const SETTLE_S = 12;
const WATCH_S = 12;

describe("a narrow downlink behind the kernel", { skip: kernelIsMissing(), timeout: 240_000 }, () => {
  const meeting = new KernelMeeting(NAMES);
  let cable;

  before(async () => {
    meeting.connect({ limited: LIMITED });
    cable = await layCable(meeting.network, { seed: 1, queueMs: 300, shaper: "relay" });
    cable.set("both", { delay: `${ROUND_TRIP_MS / 2}ms` });
    await meeting.serve();
    await meeting.meet({ simulcast: true });
    await sleep(SETTLE_S * 1000);
    cable.set("down", { rate: RATE });
    await sleep(SETTLE_S * 1000);
  });
  after(async () => {
    await cable?.remove();
    await meeting.close();
  });

  it("carries smaller or fewer pictures, and pauses none", async () => {
    const before = meeting.counters();
    await inSomeWindow(async () => {
      const pairs = await meeting.watch(WATCH_S);
      show(`in ${WATCH_S} s`, pairs);
      for (const { watcher, publisher, who, seconds, frames, height, lines } of pairs) {
        assert.ok(frames >= LEAST_FRAMES * seconds, `${who}: ${frames} frames in ${seconds} s`);
        // The receiver reports for a publisher behind the narrow link cross that link as well.
        if (![watcher, publisher].includes(LIMITED)) assert.equal(height, lines, who);
      }
      const isReduced = ({ height, lines, frames, seconds }) => height < lines || frames < 0.8 * FRAMES * seconds;
      const limited = pairs.filter(({ watcher }) => watcher === LIMITED);
      assert.ok(limited.some(isReduced), `${LIMITED} sees both pictures as they are`);
    });
    const now = meeting.counters();
    const passed = (reason) => now[reason] - before[reason];
    console.log(`forwarded ${passed("forwarded")}, probes ${passed("probed")}`);
    assert.ok(passed("forwarded") > 0 && passed("probed") > 0);
  });
});
