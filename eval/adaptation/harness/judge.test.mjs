// Tests of the figures, on records made up for the purpose: two cameras, one limited receiver.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { DOCUMENT, writeUp } from "./document.mjs";
import { judge } from "./judge.mjs";

const START = 1_000_000;
const FPS = 20;
const STEP_S = 20;

/**
 * Pictures of `height(time)` lines, `FPS` a second, where `height` is not 0. Shape: `[milliseconds,
 * lines]`.
 */
function pictures(height) {
  const all = Array.from({ length: 2 * STEP_S * FPS }, (_, index) => index / FPS);
  return all.filter((time) => height(time) > 0).map((time) => [START + 1000 * time, height(time)]);
}

/** A record in which `ada` sends and `cyd` sees part of it; `bob` sees all. */
function record(height, frozen = () => 0) {
  const seen = pictures(height);
  const video = (list) => (time) => ({
    framesDecoded: list.filter(([at]) => at <= START + 1000 * time).length,
    totalFreezesDuration: list === seen ? frozen(time) : 0,
    ...{ freezeCount: 0, bytesReceived: 12_500 * time, packetsReceived: 0, packetsLost: 0 },
    ...{ nackCount: 0, pliCount: 0, keyFramesDecoded: 0, jitter: 0, codec: "video/VP8" },
  });
  const sampled = (value) =>
    Array.from({ length: 5 * 2 * STEP_S + 1 }, (_, index) => ({
      time: START + 200 * index,
      sent: {},
      ...value(index / 5),
    }));
  const full = pictures(() => 360);
  const person = (rest) => ({ late: 0, events: [], pictures: {}, ...rest });
  return {
    experiment: { name: "made-up", title: "Made up", video: { height: 360, fps: FPS } },
    steps: [0, 1].map((index) => ({
      ...{ from: START + 1000 * STEP_S * index, to: START + 1000 * STEP_S * (index + 1) },
      ...{ rate: 1e6, load: 0, processors: 0, others: 0 },
    })),
    people: {
      ada: person({
        samples: sampled((time) => ({ video: {}, sent: { f: { frameHeight: 360, framesSent: FPS * time } } })),
      }),
      bob: person({ samples: sampled((time) => ({ video: { ada: video(full)(time) } })), pictures: { ada: full } }),
      cyd: person({
        limited: true,
        samples: sampled((time) => ({ video: { ada: video(seen)(time) } })),
        pictures: { ada: seen },
      }),
    },
  };
}

const cyd = (result) => result.views.find(({ to }) => to === "cyd");

describe("figures", () => {
  it("a receiver that gets everything is full at once, with all frames and no gap", () => {
    const view = cyd(judge(record(() => 360)));
    assert.deepEqual(view.recovery, { size: 0, rate: 0 });
    const [step] = view.steps;
    assert.deepEqual([step.height, step.fps, step.kbit, step.frozen, step.full], [360, FPS, 100, 0, 1]);
    assert.ok(step.share > 0.99 && step.gap <= 0.06, JSON.stringify(step));
  });

  it("a gap belongs to the step in which it began", () => {
    const [first, second] = cyd(judge(record((time) => (time > 19 && time < 22 ? 0 : 360)))).steps;
    assert.ok(first.gap > 2.9 && first.gap < 3.2, `${first.gap}`);
    // The rest of the gap in the next step counts from the beginning of that step.
    assert.ok(second.gap > 1.9 && second.gap < 2.2, `${second.gap}`);
  });

  it("recovery is when the size is full and stays", () => {
    const climbs = (time) => (time < 25 ? 180 : time < 25.5 ? 360 : time < 28 ? 180 : 360);
    const { size, rate } = cyd(judge(record(climbs))).recovery;
    assert.ok(Math.abs(size - 8) < 0.3 && Math.abs(rate - 8) < 0.3, `${size} ${rate}`);
  });

  it("full size at half the frame rate is not full rate", () => {
    const halved = (time) => (time > STEP_S && Math.round(time * FPS) % 2 === 0 ? 0 : 360);
    const view = cyd(judge(record(halved)));
    assert.equal(view.recovery.rate, null);
    assert.ok(Math.abs(view.steps[1].share - 0.5) < 0.03, `${view.steps[1].share}`);
  });

  it("freezes are the browser's own account, step by step", () => {
    const [first, second] = cyd(
      judge(
        record(
          () => 360,
          (time) => (time > 30 ? 1.5 : 0),
        ),
      ),
    ).steps;
    assert.deepEqual([first.frozen, second.frozen], [0, 1.5]);
  });

  it("a pause the server announced is no freeze, but what comes after it is", () => {
    const frozen = record(
      (time) => (time > 25 && time < 31 ? 0 : 360),
      (time) => (time > 31 ? 6 : 0),
    );
    const says = (second) => ({
      time: START + 1000 * second,
      receivers: [
        {
          identity: "cyd",
          subscriptions: [
            { kind: "audio", publisher: "ada", state: "sent" },
            { kind: "video", publisher: "ada", state: second >= 25 && second < 30 ? "no_room" : "sent" },
          ],
        },
      ],
    });
    const downlinks = Array.from({ length: 2 * STEP_S }, (_, second) => says(second));
    const [, step] = cyd(judge({ ...frozen, downlinks })).steps;
    assert.equal(step.paused, 5);
    assert.ok(step.frozen > 0.9 && step.frozen < 1.1 && step.gap > 0.9 && step.gap < 1.2, JSON.stringify(step));
  });
});

describe("the report", () => {
  it("without any record is the one that is kept", () => {
    const before = readFileSync(DOCUMENT, "utf8");
    writeUp("/nowhere");
    assert.equal(readFileSync(DOCUMENT, "utf8"), before);
  });
});
