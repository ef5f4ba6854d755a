// Three Chromium without encryption meet through the kernel, and the downlink of one of them
// becomes too narrow for both videos: it gets smaller ones or fewer frames a second, since sent and
// arrived packets are reported although no process has seen them.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { layCable } from "../../eval/adaptation/harness/cable.mjs";
import { KernelMeeting, kernelIsMissing } from "./support/kernel.mjs";
import { sleep } from "./support/wait.mjs";

const NAMES = ["ada", "bob", "cat"];
/**
 * The participant behind a narrow cable. Chromium's own camera takes 200 kbit/s of the 600 that a
 * video may have, and audio takes 56.
 */
const LIMITED = "cat";
const RATE = 400_000;
const FRAMES = 15;
/** Per second, of an encoding that counts as sent, or of a video that counts as shown. */
const LEAST_FRAMES = 3;
const ROUND_TRIP_MS = 20;
const SETTLE_S = 12;
const WATCH_S = 12;

describe("a narrow downlink behind the kernel", { skip: kernelIsMissing(), timeout: 180_000 }, () => {
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
    const before = await meeting.figures();
    await sleep(WATCH_S * 1000);
    const now = await meeting.figures();
    const passed = (reason) => now.counters[reason] - before.counters[reason];
    console.log(`in ${WATCH_S} s: forwarded ${passed("forwarded")}, probes ${passed("probed")}`);
    let reduced = 0;
    for (const publisher of NAMES) {
      const whole = largestSent(before.encodings[publisher], now.encodings[publisher]);
      for (const watcher of NAMES.filter((name) => name !== publisher)) {
        const { seen, was } = { seen: now.seen[watcher][publisher], was: before.seen[watcher][publisher] };
        const rate = (seen.framesDecoded - was.framesDecoded) / WATCH_S;
        console.log(
          `  ${watcher} watching ${publisher}: ${rate.toFixed(1)} frames/s of ${seen.frameHeight} lines of ${whole}`,
        );
        assert.ok(rate >= LEAST_FRAMES, `${watcher} watching ${publisher}: ${rate} frames/s`);
        if (watcher === LIMITED) reduced += seen.frameHeight < whole || rate < 0.8 * FRAMES ? 1 : 0;
        // The receiver reports for a publisher behind the narrow link cross that link as well.
        else if (publisher !== LIMITED) assert.equal(seen.frameHeight, whole, `${watcher} watching ${publisher}`);
      }
    }
    assert.ok(reduced > 0, `${LIMITED} sees both pictures as they are`);
    assert.ok(passed("forwarded") > 0 && passed("probed") > 0);
  });
});

/** Lines of the largest encoding that was sent meanwhile. */
function largestSent(before, now) {
  const frames = (rid) => now[rid].framesSent - (before[rid]?.framesSent ?? 0);
  const rids = Object.keys(now).filter((rid) => frames(rid) >= LEAST_FRAMES * WATCH_S);
  return Math.max(...rids.map((rid) => now[rid].frameHeight));
}
