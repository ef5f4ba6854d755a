import assert from "node:assert/strict";
import { test } from "node:test";
import { complete, phases, quantile } from "./phases.mjs";

const MARKS = {
  socketBegun: 3,
  socketOpen: 8,
  answered: 12,
  offered: 14,
  answerReceived: 15,
  "ice:checking": 16,
  "ice:connected": 20,
  "dtls:connecting": 20,
  "dtls:connected": 30,
  packet: 31,
  frame: 70,
  connected: 65,
  subscribed: 66,
};

test("phases add up to the first frame", () => {
  const lengths = phases(complete(MARKS));
  assert.deepEqual(lengths, {
    "first offer": 3,
    WebSocket: 5,
    "join response": 4,
    descriptions: 3,
    ICE: 5,
    DTLS: 10,
    "first packet": 1,
    "first frame": 39,
  });
  const sum = Object.values(lengths).reduce((total, length) => total + length, 0);
  assert.equal(sum, MARKS.frame);
});

test("a step that was missed or came early leaves the sum as it is", () => {
  const { "ice:connected": _, ...others } = MARKS;
  const lengths = phases(complete({ ...others, packet: 29 }));
  assert.equal(lengths.ICE, undefined);
  assert.equal(lengths.DTLS, 15);
  assert.equal(lengths["first packet"], 0);
  assert.equal(lengths["first frame"], 40);
});

test("a frame is shown once its track is known", () => {
  assert.equal(complete(MARKS).shown, 70);
  assert.equal(complete({ ...MARKS, subscribed: 90 }).shown, 90);
});

test("an answering client has the descriptions with its answer", () => {
  const { answerReceived: _, ...others } = MARKS;
  assert.equal(complete({ ...others, offerReceived: 13, answerSent: 17 }).described, 17);
});

test("quantiles are values that were measured", () => {
  const values = [5, 1, undefined, 4, 2, 3];
  assert.equal(quantile(values, 0.5), 3);
  assert.equal(quantile(values, 0.9), 5);
  assert.equal(quantile([], 0.5), undefined);
});
