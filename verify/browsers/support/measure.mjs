import assert from "node:assert/strict";
import { loadavg } from "node:os";
import { sleep } from "./wait.mjs";

/** The least that the server has to deliver: nearly every frame that was sent is decoded. */
const DECODED_MIN = 0.9;

/** Takes everybody's figures, lets `seconds` pass, and takes them again. */
async function observe(people, seconds) {
  const began = Date.now();
  const before = await Promise.all(people.map((person) => person.stats()));
  await sleep(seconds * 1000);
  const after = await Promise.all(people.map((person) => person.stats()));
  const elapsed = (Date.now() - began) / 1000;
  return people.map((person, index) => ({
    identity: person.identity,
    elapsed,
    sent: differences(before[index].sent, after[index].sent, ({ source, kind, rid }) => `${source} ${kind} ${rid}`),
    received: differences(
      before[index].received,
      after[index].received,
      ({ from, source, kind }) => `${from} ${source} ${kind}`,
    ),
    transports: after[index].transports,
  }));
}

const WINDOWS = 3;

/**
 * Watches and judges in up to three windows, and returns the first result that is no failure. A
 * fault of the server shows in each; a busy machine starves an encoder, a decoder or a socket in
 * one.
 */
export async function inSomeWindow(watch) {
  for (let window = 1; ; window++) {
    try {
      return await watch();
    } catch (failure) {
      if (!(failure instanceof assert.AssertionError) || window === WINDOWS) throw failure;
      console.log(`watched again: ${failure.message}`);
    }
  }
}

/** Observes and judges in some window. */
export function judge(people, seconds, verdict) {
  return inSomeWindow(async () => verdict(await observe(people, seconds)));
}

/** Totals become differences; a name keeps its last value. A new stream counts from zero. */
function differences(before, after, keyOf) {
  const earlier = new Map(before.map((row) => [keyOf(row), row]));
  return after.map((row) => {
    const base = earlier.get(keyOf(row)) ?? {};
    const entries = Object.entries(row).map(([name, value]) => [
      name,
      typeof value === "number" && name !== "frameHeight" ? value - (base[name] ?? 0) : value,
    ]);
    return Object.fromEntries(entries);
  });
}

/** Frames of `source` that the person sent: with simulcast, those of the busiest encoding. */
function picturesSent(view, source) {
  const encodings = view.sent.filter((row) => row.source === source && row.kind === "video");
  return Math.max(0, ...encodings.map((row) => Math.round(row.framesSent / spatialLayers(row.scalabilityMode))));
}

/**
 * A browser counts each spatial layer of a picture as a sent frame, and the picture as one decoded
 * frame.
 */
function spatialLayers(mode) {
  return Number(/^L(\d)/.exec(mode)?.[1] ?? 1);
}

/**
 * One row for every watched video: the watcher, the publisher, and the share of frames that
 * arrived.
 */
export function pictures(views, source = "camera") {
  return views.flatMap((view) =>
    view.received
      .filter((row) => row.source === source && row.kind === "video")
      .map((row) => {
        const sender = views.find(({ identity }) => identity === row.from);
        const sent = sender ? picturesSent(sender, source) : 0;
        return {
          watcher: view.identity,
          sender: row.from,
          codec: row.codec,
          height: row.frameHeight,
          fps: +(row.framesDecoded / view.elapsed).toFixed(1),
          sent,
          decoded: row.framesDecoded,
          ratio: +(row.framesDecoded / sent).toFixed(3),
          freezes: row.freezeCount,
          frozen_s: +row.totalFreezesDuration.toFixed(2),
          lost: row.packetsLost,
          nacks: row.nackCount,
          plis: row.pliCount,
        };
      }),
  );
}

/** One row for every received audio. Samples are at 48 kHz for any codec. */
export function voices(views) {
  return views.flatMap((view) =>
    view.received
      .filter((row) => row.kind === "audio")
      .map((row) => ({
        listener: view.identity,
        speaker: row.from,
        codec: row.codec,
        samples: row.totalSamplesReceived,
        concealed: +(row.concealedSamples / Math.max(1, row.totalSamplesReceived)).toFixed(3),
        packets: row.packetsReceived,
        lost: row.packetsLost,
      })),
  );
}

/** Asserts the required share of decoded frames. */
export function assertPictures(rows, count) {
  assert.equal(rows.length, count, `${count} pictures watched`);
  for (const row of rows) {
    const who = `${row.watcher} watching ${row.sender}`;
    assert.ok(row.sent > 0, `${row.sender} sent frames`);
    assert.ok(row.ratio >= DECODED_MIN, `${who}: decoded ${row.decoded} of ${row.sent} frames`);
    assert.equal(row.freezes, 0, `${who}: freezes`);
    assert.equal(row.lost, 0, `${who}: packets lost`);
  }
}

const SAMPLES_PER_SECOND_MIN = 40_000;

/**
 * The same for audio: it arrived throughout, and at most a tenth of it was concealed by the
 * receiver.
 */
export function assertVoices(rows, count, seconds) {
  assert.equal(rows.length, count, `${count} voices heard`);
  for (const row of rows) {
    const who = `${row.listener} hearing ${row.speaker}`;
    assert.ok(row.samples >= SAMPLES_PER_SECOND_MIN * seconds, `${who}: ${row.samples} samples in ${seconds} s`);
    assert.ok(row.concealed < 0.1, `${who}: ${row.concealed} of the sound concealed`);
    assert.equal(row.lost, 0, `${who}: packets lost`);
  }
}

/** Prints figures under a title, with the load of the machine they were measured on. */
export function show(title, rows) {
  console.log(`${title} (load ${loadavg()[0].toFixed(2)})`);
  for (const row of rows) {
    console.log(
      `  ${Object.entries(row)
        .map(([name, value]) => `${name} ${value}`)
        .join(", ")}`,
    );
  }
}
