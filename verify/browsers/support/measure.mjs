import assert from "node:assert/strict";
import { loadavg } from "node:os";
import { sleep } from "./wait.mjs";

/** The least that the server has to deliver: nearly every frame that was sent is decoded. */
const DECODED_MIN = 0.9;

/** Takes everybody's figures, lets `seconds` pass, and takes them again. */
async function observe(people, seconds) {
  const began = Date.now();
  await Promise.all(people.map(lateness));
  const before = await Promise.all(people.map((person) => person.stats()));
  await sleep(seconds * 1000);
  const after = await Promise.all(people.map((person) => person.stats()));
  const elapsed = (Date.now() - began) / 1000;
  const late = await Promise.all(people.map(lateness));
  return people.map((person, index) => ({
    identity: person.identity,
    elapsed,
    late: late[index],
    sent: differences(before[index].sent, after[index].sent, ({ source, kind, rid }) => `${source} ${kind} ${rid}`),
    received: differences(
      before[index].received,
      after[index].received,
      ({ from, source, kind }) => `${from} ${source} ${kind}`,
    ),
    transports: after[index].transports,
  }));
}

const lateness = (person) => person.run((client) => client.takeLateness());

// A frame is due every 50 ms, and a video counts as frozen when one is 150 ms late.
const LATE_MAX_MS = 120;
const ATTEMPTS = 3;

/**
 * Observes and judges. A failure on a machine that was too busy for its own browsers shows nothing
 * about the server, so it is measured again; the last attempt counts.
 */
export async function judge(people, seconds, verdict) {
  for (let attempt = 1; ; attempt++) {
    const views = await observe(people, seconds);
    try {
      return verdict(views);
    } catch (failure) {
      const late = Math.max(...views.map((view) => view.late));
      if (late < LATE_MAX_MS || attempt === ATTEMPTS) throw failure;
      console.log(`measured again, since the browsers themselves ran up to ${late} ms late: ${failure.message}`);
    }
  }
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
