// Three Chromium without encryption meet through the kernel, and their Weir is killed: media
// continues without it. When the next one runs, people join again by themselves, as livekit-client
// does.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { KernelMeeting, kernelIsMissing } from "./support/kernel.mjs";
import { inSomeWindow, show } from "./support/measure.mjs";
import { sleep, waitFor } from "./support/wait.mjs";

const NAMES = ["ada", "bob", "cat"];
/** Per second, of 15: encoders share this machine. */
const LEAST_FRAMES = 8;
const SETTLE_S = 6;
/** As long as it takes to be started again. */
const GONE_S = 1;
/**
 * How long Chromium continues to send without answers to its connectivity checks, less a
 * little.
 */
const PATIENCE_S = 5;
const AFTERWARDS_S = 5;
/** How long livekit-client may wait until it tries again. */
const REJOIN_S = 40;

describe("a Weir that is killed while the kernel copies", { skip: kernelIsMissing(), timeout: 200_000 }, () => {
  const meeting = new KernelMeeting(NAMES);
  /** All samples and events of everybody, by name. */
  let recorded;

  before(async () => {
    // Without adaptation the result does not depend on the estimates of downlinks.
    meeting.connect({ keeps: true, adapted: false });
    await meeting.serve();
    await meeting.meet();
    await sleep(SETTLE_S * 1000);
  });
  after(() => meeting.close());

  it("interrupts nobody, and people meet again at the next", async () => {
    await meeting.take();
    recorded = Object.fromEntries(NAMES.map((name) => [name, { samples: [], events: [] }]));
    const killed = Date.now();
    await meeting.server.stop("SIGKILL");
    await sleep(GONE_S * 1000);
    await meeting.serve();
    const restarted = Date.now();
    const since = (time) => `${((time - killed) / 1000).toFixed(1)} s`;
    await waitFor("everybody to be back", everybodyIsBack, {
      timeout: REJOIN_S * 1000,
      interval: 500,
      onTimeout: () => JSON.stringify(recorded, ["events"]),
    });
    console.log(`  killed at 0 s, and another one there at ${since(restarted)}`);
    for (const name of NAMES) {
      console.log(`  ${name}: ${recorded[name].events.map(([time, what]) => `${what} at ${since(time)}`).join(", ")}`);
    }
    // Both have to be there still for the one to see the other.
    for (const [watcher, publisher] of pairs()) {
      const left = Math.min(leftAt(watcher), leftAt(publisher));
      assert.ok(left > restarted, "they left before there was anything to come to");
      const until = Math.min(left, killed + PATIENCE_S * 1000);
      const who = `${watcher} watching ${publisher}`;
      const { seconds, sent, frames, lost } = watched(watcher, publisher, killed, until);
      console.log(`  until then, ${who}: ${frames} of ${sent} frames in ${seconds} s, ${lost} packets lost`);
      assert.ok(sent >= LEAST_FRAMES * seconds, `${publisher} sent ${sent} frames`);
      assertSeen(who, sent, frames);
      // Packets that probes send several times are subtracted from the losses.
      assert.ok(lost <= 0, `${who}: ${lost} lost`);
    }

    await meeting.met();
    await sleep(SETTLE_S * 1000);
    const before = meeting.counters();
    await inSomeWindow(async () => {
      const pairs = await meeting.watch(AFTERWARDS_S);
      show("  afterwards", pairs);
      for (const { who, sent, frames } of pairs) assertSeen(who, sent, frames);
    });
    const now = meeting.counters();
    assert.ok(now.forwarded > before.forwarded, "the kernel copies again");
    for (const reason of ["no_replica", "copied_by_offload"]) {
      assert.equal(now[reason], before[reason], "media in userspace");
    }
  });

  async function record() {
    for (const [name, { samples, events }] of Object.entries(await meeting.take())) {
      recorded[name].samples.push(...samples);
      recorded[name].events.push(...events);
    }
  }

  async function everybodyIsBack() {
    await record();
    return NAMES.every((name) => recorded[name].events.some(([, what]) => what === "reconnected"));
  }

  /** The time when a participant gave up its first connection. */
  function leftAt(name) {
    const [time] = recorded[name].events.find(([, what]) => what === "reconnecting") ?? [Number.POSITIVE_INFINITY];
    return time;
  }

  /**
   * The video that one participant received of the other between two times, and the other sent
   * meanwhile. Frames that wait for a busy decoder have arrived.
   */
  function watched(watcher, publisher, from, until) {
    const samples = recorded[watcher].samples.filter(({ time }) => time >= from && time < until);
    const [first, last] = [samples[0], samples.at(-1)];
    // Between two connections a page sends nothing, and knows no numbers.
    const whileSending = recorded[publisher].samples.filter(({ sent }) => Object.keys(sent).length > 0);
    const [before, then] = [first, last].map(({ time }) => nearest(whileSending, time));
    const lost = ({ video, audio }) => video[publisher].packetsLost + audio[publisher].packetsLost;
    return {
      seconds: Math.round((last.time - first.time) / 100) / 10,
      sent: framesSent(then) - framesSent(before),
      frames: last.video[publisher].framesReceived - first.video[publisher].framesReceived,
      lost: lost(last) - lost(first),
    };
  }
});

function nearest(samples, time) {
  const distance = (sample) => Math.abs(sample.time - time);
  return samples.reduce((best, sample) => (distance(sample) < distance(best) ? sample : best));
}

const framesSent = ({ sent }) => Math.max(...Object.values(sent).map((encoding) => encoding.framesSent));

function assertSeen(who, sent, frames) {
  assert.ok(sent > 0 && frames >= 0.9 * sent, `${who}: ${frames} of ${sent} frames`);
}

function pairs() {
  return NAMES.flatMap((watcher) => NAMES.filter((name) => name !== watcher).map((publisher) => [watcher, publisher]));
}
