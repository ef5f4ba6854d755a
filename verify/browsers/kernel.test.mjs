// Three Chromium without encryption, in network namespaces of their own, meet through the kernel:
// their media is copied there, and none of it reaches the switch.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { KernelMeeting, kernelIsMissing } from "./support/kernel.mjs";
import { inSomeWindow, show } from "./support/measure.mjs";
import { sleep } from "./support/wait.mjs";

const NAMES = ["ada", "bob", "cat"];
const SETTLE_S = 6;
const WATCH_S = 10;

describe("through the kernel", { skip: kernelIsMissing(), timeout: 150_000 }, () => {
  const meeting = new KernelMeeting(NAMES);

  before(async () => {
    meeting.connect();
    await meeting.serve();
    await meeting.meet();
    await sleep(SETTLE_S * 1000);
  });
  after(() => meeting.close());

  it("three people see and hear each other, and userspace sees none of it", async () => {
    const before = meeting.counters();
    await inSomeWindow(async () => {
      const pairs = await meeting.watch(WATCH_S);
      show(`in ${WATCH_S} s`, pairs);
      for (const { who, seconds, sent, lines, frames, height, freezes, lost, heard } of pairs) {
        assert.ok(sent > 0 && frames >= 0.9 * sent, `${who}: ${frames} of ${sent} frames`);
        assert.deepEqual({ freezes, height }, { freezes: 0, height: lines }, who);
        // Packets that probes send several times are subtracted from the losses.
        assert.ok(lost <= 0, `${who}: ${lost} lost`);
        assert.ok(heard >= 45 * seconds, `${who}: ${heard} packets of audio in ${seconds} s`);
      }
    });
    const now = meeting.counters();
    const passed = (reason) => now[reason] - before[reason];
    console.log(
      `forwarded ${passed("forwarded")}, of ${passed("received")} received` +
        ` (${passed("punted_rtcp")} RTCP, ${passed("punted_stun")} STUN); seen by userspace: ${passed("copied_by_offload")}`,
    );
    assert.ok(passed("forwarded") > 0);
    const inUserspace = ["no_replica", "copied_by_offload", "not_selected", "unknown_stream"];
    assert.deepEqual(inUserspace.map(passed), [0, 0, 0, 0], "media in userspace");
    // Two copies of everything that is no question and no report.
    const media = passed("received") - passed("punted_rtcp") - passed("punted_stun");
    assert.ok(Math.abs(passed("forwarded") - 2 * media) <= 0.01 * media, "each packet to the two others");
  });
});
