// From curves to figures.

import { between, framesSent, rateAt, views } from "./curves.mjs";
import { announcedPauses, endedIn, paused } from "./pauses.mjs";

/** The part of a step that counts as settled. */
const SETTLED = 0.4;
const FULL_RATE = 0.9;
/** Window of frame rates, and time for which a rate must hold. Shape: seconds. */
const RATE_WINDOW = 2;
const STAYS = 3;
/**
 * Encoders leave out their top layer now and then by themselves; this share of frames at full size
 * counts as full size.
 */
const FULL_SIZE = 0.9;

/** Everything a table needs, small enough to keep. */
export function judge(record) {
  const start = record.steps[0].from;
  const steps = record.steps.map((step) => ({
    from: (step.from - start) / 1000,
    to: (step.to - start) / 1000,
    rate: rateAt(record, step),
    loss: step.loss,
    load: step.load,
    processors: round(step.processors, 2),
    // Counted in another place than the harness's own, so it may fall short a little.
    others: round(Math.max(0, step.others), 2),
  }));
  const all = views(record);
  const reference = (view) => all.find((other) => other.from === view.from && !other.limited && other !== view) ?? view;
  const { experiment, server, version, encrypted, adaptation, shaper, seed, roundTripMs, readyAfter, frames } = record;
  return {
    ...{ name: experiment.name, title: experiment.title, kind: experiment.kind ?? "steps", video: experiment.video },
    ...{
      freezeMax: experiment.freezeMax,
      server,
      version,
      encrypted,
      adaptation,
      shaper,
      seed,
      roundTripMs,
      readyAfter,
      frames,
    },
    late: Object.fromEntries(Object.entries(record.people).map(([name, { late }]) => [name, late])),
    events: Object.fromEntries(Object.entries(record.people).map(([name, { events }]) => [name, events])),
    limits: Object.fromEntries(Object.entries(record.people).map(([name, person]) => [name, limitations(person)])),
    steps,
    views: all.map((view) => ({
      to: view.to,
      from: view.from,
      limited: view.limited,
      codec: view.samples.at(-1)?.codec ?? "",
      steps: stepFigures(view, steps, record, start),
      recovery: recovery(view, steps.at(-1), experiment.video.height, reference(view)),
      ...(experiment.kind === "distribution" && { distribution: distribution(view, steps) }),
    })),
  };
}

/** Figures of one receiver of one camera for each step. */
function stepFigures(view, steps, record, start) {
  const sender = record.people[view.from].samples;
  const pauses = announcedPauses(record, view);
  return steps.map((step) => figures(view, step, sender, start, record.experiment.video.height, pauses));
}

/** Figures of one receiver of one camera for one step. */
function figures(view, { from, to }, sender, start, height, pauses) {
  const [first, last] = [at(view.samples, from), at(view.samples, to)];
  const tail = from + (1 - SETTLED) * (to - from);
  const settled = between(view.pictures, tail, to);
  const span = (name) => (first && last ? last[name] - first[name] : 0);
  const sentBy = (time) => framesSent(sender.findLast((sample) => sample.time <= start + time * 1000) ?? sender[0]);
  const sent = sentBy(to) - sentBy(from);
  return {
    kbit: Math.round(
      ((at(view.samples, to).bytesReceived - at(view.samples, tail).bytesReceived) * 8e-3) / (to - tail),
    ),
    height: commonest(settled.map(([, height]) => height)),
    fps: round(settled.length / (to - tail), 1),
    freezes: span("freezeCount"),
    // After five seconds the browser counts a pause instead; for a viewer it is the same, unless
    // the server announced it.
    frozen: round(
      Math.max(0, span("totalFreezesDuration") + (span("totalPausesDuration") || 0) - endedIn(pauses, from, to)),
      2,
    ),
    gap: round(longestGap(view.pictures, from, to, pauses), 2),
    paused: round(paused(pauses, from, to), 1),
    sent,
    decoded: span("framesDecoded"),
    share: round(span("framesDecoded") / Math.max(1, sent), 4),
    lost: span("packetsLost"),
    received: span("packetsReceived"),
    nacks: span("nackCount"),
    plis: span("pliCount"),
    keyFrames: span("keyFramesDecoded"),
    roundTripMs: Math.round(
      1000 * median(view.samples.filter(({ time }) => time >= tail && time < to).map((it) => it.roundTrip ?? 0)),
    ),
    full: round(shareOf(between(view.pictures, from, to), height), 3),
    slowest: round(slowest(view.pictures, from, to), 1),
  };
}

/** The share of frames with all their lines. */
function shareOf(pictures, height) {
  return pictures.filter(([, lines]) => lines >= height).length / Math.max(1, pictures.length);
}

const at = (samples, time) => samples.findLast((sample) => sample.time <= time) ?? samples[0];

/**
 * The longest time between two frames of which the first is in the step, or in which the step
 * began, without announced pauses.
 */
function longestGap(pictures, from, to, pauses) {
  const inside = between(pictures, from, to);
  const before = pictures.findLast(([time]) => time < from);
  const after = pictures.find(([time]) => time >= to);
  const times = [before?.[0] ?? from, ...inside.map(([time]) => time), after?.[0] ?? to];
  // A gap over the beginning counts from the beginning: the earlier part belongs to the previous
  // step.
  const gaps = times.slice(1).map((time, index) => {
    const since = Math.max(times[index], index === 0 ? from : 0);
    return time - since - paused(pauses, since, time);
  });
  return Math.max(...gaps);
}

/** The lowest frame rate over any stretch of the window's length. */
function slowest(pictures, from, to) {
  let least = Number.POSITIVE_INFINITY;
  for (let time = from; time + RATE_WINDOW <= to; time += 0.2) {
    least = Math.min(least, between(pictures, time, time + RATE_WINDOW).length / RATE_WINDOW);
  }
  return Number.isFinite(least) ? least : 0;
}

/**
 * Seconds after the beginning of the last step until full size and full frame rate, to the end or
 * at least for a while; null if never.
 */
function recovery(view, { from, to }, height, reference) {
  let size = null;
  let rate = null;
  const full = (time) => {
    const pictures = between(view.pictures, time, time + STAYS);
    return pictures[0]?.[1] >= height && shareOf(pictures, height) >= FULL_SIZE;
  };
  const quick = (time) => {
    const due = between(reference.pictures, time, time + RATE_WINDOW).length;
    return between(view.pictures, time, time + RATE_WINDOW).length >= FULL_RATE * due;
  };
  for (let time = from; time + STAYS <= to; time += 0.1) {
    const sized = full(time);
    if (sized) size ??= round(time - from, 1);
    if (sized && quick(time)) {
      rate = round(time - from, 1);
      break;
    }
  }
  return { size, rate };
}

/** Frame rates over each second, sorted: the curve of a distribution. */
function distribution(view, steps) {
  const rates = [];
  for (let time = steps[0].from + 5; time + 1 <= steps.at(-1).to; time += 1) {
    rates.push(between(view.pictures, time, time + 1).length);
  }
  return rates.sort((a, b) => a - b);
}

/** Why a sender sent less than it could, and the share of samples in which it did. */
function limitations({ samples }) {
  const all = samples.flatMap(({ sent }) => Object.values(sent).map(({ limit }) => limit));
  const reasons = [...new Set(all)].filter((reason) => reason && reason !== "none");
  return Object.fromEntries(
    reasons.map((reason) => [reason, round(all.filter((it) => it === reason).length / all.length, 2)]),
  );
}

function commonest(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0;
}

export function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function round(value, digits) {
  return Number(value.toFixed(digits));
}
