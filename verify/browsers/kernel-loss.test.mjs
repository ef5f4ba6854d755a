// Three Chromium without encryption meet through the kernel, and one of them loses packets: the
// publishers repeat them for it alone, although no packet is kept in between.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { layCable } from "../../testkit/browsers/cable.mjs";
import { KernelMeeting, kernelIsMissing } from "./support/kernel.mjs";
import { inSomeWindow, show } from "./support/measure.mjs";
import { sleep } from "./support/wait.mjs";

const NAMES = ["ada", "bob", "cat"];
/** The participant behind a cable that loses packets towards it. */
const UNLUCKY = "cat";
const LOSS = "5%";
const ROUND_TRIP_MS = 20;
const SETTLE_S = 6;
const WATCH_S = 15;

describe("losses behind the kernel", { skip: kernelIsMissing(), timeout: 240_000 }, () => {
  const meeting = new KernelMeeting(NAMES);
  let cable;

  before(async () => {
    // Without adaptation every missing packet is a lost one.
    meeting.connect({ limited: UNLUCKY, adapted: false });
    cable = await layCable(meeting.network, { seed: 1, queueMs: 500, shaper: "relay" });
    cable.set("both", { delay: `${ROUND_TRIP_MS / 2}ms` });
    await meeting.serve();
    await meeting.meet();
    await sleep(SETTLE_S * 1000);
    cable.set("down", { loss: LOSS });
    await sleep(SETTLE_S * 1000);
  });
  after(async () => {
    await cable?.remove();
    await meeting.close();
  });

  it("are repaired by publishers, for the receiver that has them", async () => {
    const before = meeting.counters();
    await inSomeWindow(async () => {
      const pairs = await meeting.watch(WATCH_S);
      show(`in ${WATCH_S} s`, pairs);
      const unlucky = pairs.filter(({ watcher }) => watcher === UNLUCKY);
      for (const { who, sent, frames, plis } of pairs) {
        assert.ok(sent > 0 && frames >= 0.9 * sent, `${who}: ${frames} of ${sent}`);
        assert.ok(plis <= 1, `${who}: ${plis} PLIs`);
      }
      for (const { who, nacks } of unlucky) assert.ok(nacks > 0, `${who}: no NACK`);
      // A busy machine overruns a socket now and then.
      const most = 0.1 * Math.min(...unlucky.map(({ nacks }) => nacks));
      for (const { watcher, who, nacks } of pairs) {
        assert.ok(watcher === UNLUCKY || nacks <= most, `${who}: ${nacks} NACKs`);
      }
    });
    const now = meeting.counters();
    const passed = (reason) => now[reason] - before[reason];
    console.log(`forwarded ${passed("forwarded")}, sent again ${passed("resent")}`);
    assert.ok(passed("resent") > 0, "nothing was sent again");
    assert.ok(passed("resent") < 0.1 * passed("forwarded"), "retransmissions go to one of the two");
    const inUserspace = ["no_replica", "copied_by_offload", "not_selected", "unknown_stream"];
    assert.deepEqual(inUserspace.map(passed), [0, 0, 0, 0], "media in userspace");
  });
});
