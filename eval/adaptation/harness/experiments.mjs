// The experiments: the publishers and their media, and the schedule of the limited participant's
// downlink.

/** eXpressSFU's Figure 16 as a schedule. Shape: seconds, bits a second or null. */
const STEPS = [
  { seconds: 25, down: { rate: 4e6 } },
  { seconds: 25, down: { rate: 1e6 } },
  { seconds: 25, down: { rate: 500e3 } },
  { seconds: 30, down: { rate: 4e6 } },
];

/**
 * A video as large as three browsers on two cores can encode, and a bit rate of which two exceed 1
 * Mbit/s.
 */
const VP8 = {
  codec: "vp8",
  width: 1280,
  height: 720,
  fps: 15,
  maxBitrate: 1_400_000,
  layers: [
    { width: 320, height: 180, maxBitrate: 120_000 },
    { width: 640, height: 360, maxBitrate: 400_000 },
  ],
};
/**
 * Thirty frames a second, as most cameras have: a lost last packet is noticed with the next frame,
 * so the rate matters here.
 */
const VP8_QUICK = {
  codec: "vp8",
  width: 640,
  height: 360,
  fps: 30,
  maxBitrate: 900_000,
  layers: [{ width: 320, height: 180, maxBitrate: 160_000 }],
};
const VP9 = { codec: "vp9", mode: "L3T3_KEY", width: 960, height: 540, fps: 15, maxBitrate: 1_300_000 };
/**
 * AV1 costs three to four times as much to encode: at 960x540 the publishers ran out of processor
 * with every key frame, and viewers without a limit froze, too.
 */
const AV1 = { ...VP9, codec: "av1", width: 640, height: 360, fps: 20, maxBitrate: 900_000 };
/**
 * One size, three frame rates: at 30 frames a second the lowest is 7.5. More than half of the bits
 * are in that one.
 */
const AV1_TEMPORAL = { codec: "av1", mode: "L1T3", width: 640, height: 360, fps: 30, maxBitrate: 550_000 };

/** So the narrowest step is as wide as two of them need, or one would have to go. */
const TEMPORAL_STEPS = STEPS.map((step) => (step.down.rate === 500e3 ? { ...step, down: { rate: 750e3 } } : step));

/** The first fall, several times over: falls differ by the packets under way. */
const FALLS = Array.from({ length: 6 }, () => [
  { seconds: 14, down: { rate: 4e6 } },
  { seconds: 7, down: { rate: 1e6 } },
]).flat();

const falls = (name, title, video, freezeMax) => ({
  ...{ name, group: "falls", kind: "falls", title: `${title}, six falls`, video, steps: FALLS, freezeMax },
});

const experiments = [
  { name: "vp8", title: "VP8 simulcast", video: VP8, steps: STEPS, freezeMax: 1.5 },
  { name: "vp9", title: "VP9 L3T3_KEY", video: VP9, steps: STEPS, freezeMax: 0.5 },
  { name: "av1-l1t3", group: "av1", title: "AV1 L1T3", video: AV1_TEMPORAL, steps: TEMPORAL_STEPS, freezeMax: 0.5 },
  { name: "av1-l3t3", group: "av1", title: "AV1 L3T3_KEY", video: AV1, steps: STEPS, freezeMax: 0.5 },
  falls("falls-vp9", "VP9 L3T3_KEY", VP9, 0.5),
  falls("falls-vp8", "VP8 simulcast", VP8, 1.5),
  {
    name: "loss",
    title: "5 % loss at a round trip of 50 ms",
    kind: "loss",
    video: VP8_QUICK,
    roundTripMs: 50,
    steps: [
      { seconds: 30, down: { rate: null, loss: "0%" } },
      { seconds: 60, down: { loss: "5%" } },
    ],
  },
  {
    name: "scallop16",
    group: "scallop",
    title: "AV1 L1T3, the downlink narrows twice",
    kind: "reduced",
    video: AV1_TEMPORAL,
    steps: [
      { seconds: 30, down: { rate: null } },
      { seconds: 30, down: { rate: 1.1e6 } },
      { seconds: 30, down: { rate: 750e3 } },
    ],
    freezeMax: 0.5,
  },
  ...["off", "on"].flatMap((adaptation) =>
    ["0%", "1%"].map((loss) => ({
      name: `scallop17-${adaptation}-${loss.replace("%", "")}`,
      group: "scallop",
      title: `AV1 L1T3, adaptation ${adaptation}, loss ${loss}`,
      kind: "distribution",
      video: AV1_TEMPORAL,
      adaptation: adaptation === "on",
      // As in the paper, the adaptation has a cause: a downlink too narrow for everything. Without
      // adaptation there is no limit.
      steps: [{ seconds: 90, down: { rate: adaptation === "on" ? 1.1e6 : null, loss } }],
    })),
  ),
];

export const names = [...new Set(experiments.flatMap(({ name, group }) => [name, group ?? name])), "all"];

/** The experiments with this name: one of its own, a group, or all. */
export function select(name) {
  return experiments.filter((it) => name === "all" || it.name === name || it.group === name);
}
