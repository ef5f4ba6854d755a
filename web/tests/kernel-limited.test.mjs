// Three Chromium without encryption meet through the kernel, and the downlink of one of them becomes too narrow for both pictures as they are: it gets smaller
// ones, since what left and what arrived is told of packets that no process has seen.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { layCable } from "../../eval/adaptation/rig/cable.mjs";
import { KernelMeeting, kernelIsMissing } from "./support/kernel.mjs";
import { sleep } from "./support/wait.mjs";

const NAMES = ["ada", "bob", "cat"];
/** Who is behind a narrow cable. Each picture is up to 600 kbit/s. */
const LIMITED = "cat";
const RATE = 500_000;
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

  it("carries smaller pictures, and pauses none", async () => {
    const before = await meeting.figures();
    await sleep(WATCH_S * 1000);
    const now = await meeting.figures();
    const passed = (reason) => now.counters[reason] - before.counters[reason];
    console.log(`in ${WATCH_S} s: forwarded ${passed("forwarded")}, probes ${passed("probed")}`);
    for (const publisher of NAMES) {
      for (const watcher of NAMES.filter((name) => name !== publisher)) {
        const { seen, was } = { seen: now.seen[watcher][publisher], was: before.seen[watcher][publisher] };
        const rate = (seen.framesDecoded - was.framesDecoded) / WATCH_S;
        console.log(`  ${watcher} watching ${publisher}: ${rate.toFixed(1)} frames/s of ${seen.frameHeight} lines`);
        assert.ok(rate >= 3, `${watcher} watching ${publisher}: ${rate} frames/s`);
        // What its publisher hears of how its packets do comes over the narrow link as well.
        if (watcher !== LIMITED && publisher !== LIMITED)
          assert.equal(seen.frameHeight, 360, `${watcher} watching ${publisher}`);
      }
    }
    const heights = NAMES.filter((name) => name !== LIMITED).map((name) => now.seen[LIMITED][name].frameHeight);
    assert.ok(
      heights.some((height) => height === 180),
      `${LIMITED} sees ${heights} lines`,
    );
    assert.ok(passed("forwarded") > 0 && passed("probed") > 0);
  });
});
