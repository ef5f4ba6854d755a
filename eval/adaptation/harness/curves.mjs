// From records to curves over time: seconds since the first step.

const WINDOW_S = 1;

/**
 * Everybody's view of everybody: `{ to, from, limited, bitrate, height, fps, pictures, samples }`.
 */
export function views(record) {
  const start = record.steps[0].from;
  return Object.entries(record.people).flatMap(([to, { samples, pictures, limited = false }]) =>
    Object.keys(pictures).map((from) => {
      const seen = pictures[from].map(([time, height]) => [(time - start) / 1000, height]);
      const counted = samples
        .filter(({ video }) => video[from])
        .map(({ time, video, roundTrip }) => ({ time: (time - start) / 1000, roundTrip, ...video[from] }));
      return {
        to,
        from,
        limited,
        pictures: seen,
        samples: counted,
        bitrate: bitrate(counted),
        height: seen,
        fps: frameRate(seen, counted),
      };
    }),
  );
}

/**
 * The server's estimate of the limited participant's downlink, if there is one. Shape: bits a
 * second.
 */
export function estimates({ steps, people, downlinks = [] }) {
  const limited = Object.keys(people).find((name) => people[name].limited);
  return downlinks.flatMap(({ time, receivers }) => {
    const target = receivers.find(({ identity }) => identity === limited)?.downlink?.target_bps;
    return target === undefined ? [] : [[(time - steps[0].from) / 1000, target]];
  });
}

/** Frame rates of all senders: `{ from, fps }`. */
export function senders(record) {
  const start = record.steps[0].from;
  return Object.entries(record.people).map(([from, { samples }]) => {
    const total = samples.map((sample) => [(sample.time - start) / 1000, framesSent(sample)]);
    return { from, fps: total.map(([time, count], index) => [time, perSecond(total, index, count)]) };
  });
}

function perSecond(total, index, count) {
  const before = total[Math.max(0, index - Math.round(WINDOW_S * 5))];
  const elapsed = total[index][0] - before[0];
  return elapsed > 0 ? Math.round((count - before[1]) / elapsed) : 0;
}

/**
 * Frames sent so far: of several encodings those of the largest; of spatial layers that are
 * counted separately, once.
 */
export function framesSent({ sent }) {
  const largest = Object.values(sent).sort((a, b) => b.frameHeight - a.frameHeight)[0];
  const spatial = Number(/^L(\d)/.exec(largest?.mode)?.[1] ?? 1);
  return Math.round((largest?.framesSent ?? 0) / spatial);
}

/** Bits a second over the window before each sample. */
function bitrate(samples) {
  let first = 0;
  return samples.map((sample, index) => {
    while (first < index - 1 && samples[first].time < sample.time - WINDOW_S) first++;
    const elapsed = sample.time - samples[first].time;
    return [sample.time, elapsed > 0 ? ((sample.bytesReceived - samples[first].bytesReceived) * 8) / elapsed : 0];
  });
}

/** Frames a second over the window before each sample. */
function frameRate(pictures, samples) {
  return samples.map(({ time }) => [time, between(pictures, time - WINDOW_S, time).length / WINDOW_S]);
}

/** The points, each with a time first, from `from` and before `to`. */
export function between(points, from, to) {
  return points.slice(firstAt(points, from), firstAt(points, to));
}

/** The index of the first point that is not before `time`. */
function firstAt(points, time) {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Everything as one table: time, link, and three columns for each view. */
export function csv(record) {
  const all = views(record);
  const start = record.steps[0].from;
  const head = [
    "seconds",
    "link_bit_s",
    ...all.flatMap(({ to, from }) => COLUMNS.map((column) => `${to}_from_${from}_${column}`)),
  ];
  const times = all.find(({ limited }) => limited)?.samples.map(({ time }) => time) ?? [];
  const rows = times.map((time) => {
    const step = record.steps.findLast(({ from }) => (from - start) / 1000 <= time) ?? record.steps[0];
    return [time.toFixed(3), rateAt(record, step) ?? "", ...all.flatMap((view) => cells(view, time))];
  });
  return `${[head, ...rows].map((row) => row.join(",")).join("\n")}\n`;
}

const COLUMNS = [
  "bit_s",
  "frames_s",
  "frameWidth",
  "frameHeight",
  "framesDecoded",
  "framesPerSecond",
  "freezeCount",
  "totalFreezesDuration",
  "pauseCount",
  "totalPausesDuration",
  "bytesReceived",
  "packetsLost",
  "nackCount",
  "pliCount",
  "jitter",
  "currentRoundTripTime",
];

function cells(view, time) {
  const index = view.samples.findLastIndex((sample) => sample.time <= time);
  if (index < 0) return COLUMNS.map(() => "");
  const sample = view.samples[index];
  const [, , ...names] = COLUMNS;
  const plain = names.map((name) => (name === "currentRoundTripTime" ? sample.roundTrip : sample[name]) ?? "");
  return [Math.round(view.bitrate[index][1]), view.fps[index][1], ...plain];
}

/** A step that does not name a rate keeps the one before. */
export function rateAt(record, step) {
  return record.steps.slice(0, record.steps.indexOf(step) + 1).findLast(({ rate }) => rate !== undefined)?.rate ?? null;
}
