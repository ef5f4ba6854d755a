// One experiment from the first namespace to the last: everything it starts, it ends.

import { setTimeout as sleep } from "node:timers/promises";
import { IN_CLEAR } from "../../../testkit/browsers/clear.mjs";
import { layCable } from "../../../testkit/browsers/cable.mjs";
import { film } from "./camera.mjs";
import { goFirst, load, processorTime, stepBack } from "./machine.mjs";
import { createNetwork } from "../../../testkit/browsers/network.mjs";
import { Person } from "../../../testkit/browsers/person.mjs";
import { startServer } from "../../../testkit/browsers/server.mjs";
import { bundle } from "../../../testkit/browsers/site.mjs";
import { watch } from "./watch.mjs";

const PEOPLE = [{ name: "ada" }, { name: "bob" }, { name: "cyd", limited: true }];
/** Time for encoders and estimators to reach their rates. */
const READY_MS = 60_000;
const SETTLE_MS = 10_000;
/** Time for start, settling and end, beside the schedule. */
const AROUND_MS = 180_000;
const MICROPHONE = { audioPreset: { maxBitrate: 20_000 }, red: false, dtx: false };

const now = () => performance.timeOrigin + performance.now();

/** Runs the experiment and returns its record. */
export async function measure(experiment, options) {
  const parts = [];
  const end = async () => {
    for (const stop of parts.reverse().splice(0)) await stop();
  };
  const seconds = experiment.steps.reduce((sum, step) => sum + step.seconds, 0);
  const limit = AbortSignal.timeout(seconds * 1000 + AROUND_MS);
  const expired = new Promise((_, reject) => {
    limit.addEventListener("abort", () => reject(new Error(`${experiment.name} took too long`)));
  });
  const over = new AbortController();
  const conducted = conduct(experiment, { ...options, signal: over.signal }, parts);
  try {
    return await Promise.race([conducted, expired, options.stopped]);
  } finally {
    over.abort();
    await end();
    // Given up in the middle, it may just have been starting something.
    await conducted.catch(() => {});
    await end();
  }
}

async function conduct(experiment, options, parts) {
  const { video } = experiment;
  parts.push(() => stepBack());
  const network = createNetwork(options.namespaces, PEOPLE);
  parts.push(() => network.remove());
  const cable = await layCable(network, options);
  parts.push(() => cable.remove());
  const roundTripMs = experiment.roundTripMs ?? options.roundTripMs;
  cable.set("both", { delay: `${roundTripMs / 2}ms` });
  cable.set("down", { rate: experiment.steps[0].down.rate });
  const adaptation = options.adaptation && experiment.adaptation !== false;
  const server = await startServer(network, options.folder, { ...options, adaptation });
  parts.push(() => server.stop());

  const files = await bundle();
  const people = [];
  for (const [index, { name }] of PEOPLE.entries()) {
    const path = `${options.folder}/camera-${index}-${video.width}x${video.height}-${video.fps}.y4m`;
    film(path, { ...video, seed: options.seed + index, grain: options.grain });
    const person = await Person.open({
      name,
      namespace: network.namespace(name),
      film: path,
      files,
      folder: options.folder,
      ...(options.kernel ? IN_CLEAR : {}),
    });
    parts.push(() => person.close());
    people.push(person);
  }
  goFirst(network.namespaces);
  const room = `${experiment.name}-${process.pid}`;
  const watched = server.isWeir ? watch(network, server, room) : undefined;
  parts.push(() => watched?.stop());
  const readyAfter = await meet(people, server, experiment, { ...options, room });
  // Browsers start some of their processes with the first frame.
  goFirst(network.namespaces);
  const steps = await follow(experiment.steps, cable, network, options.signal);
  const taken = await Promise.all(people.map((person) => person.take()));
  const downlinks = (await watched?.stop()) ?? [];
  const frames = await cable.remove();
  for (const { name, errors } of people)
    if (errors.length > 0) console.error(`${name}'s page: ${[...new Set(errors)].slice(0, 5).join("; ")}`);
  if (options.e2ee && !taken.every(({ encrypted }) => encrypted)) throw new Error("not everybody was encrypted");
  return {
    experiment,
    server: server.name,
    version: server.version,
    encrypted: options.e2ee,
    adaptation,
    shaper: cable.shaper,
    seed: options.seed,
    roundTripMs,
    readyAfter,
    steps,
    frames,
    downlinks,
    people: Object.fromEntries(
      people.map(({ name }, index) => [name, { ...taken[index], limited: PEOPLE[index].limited }]),
    ),
  };
}

/** Everybody joins, and sees everybody else as large as they are. */
async function meet(people, server, experiment, { room, e2ee, dynacast, signal }) {
  const { codec, mode, width, height, fps, maxBitrate, layers } = experiment.video;
  const passphrase = e2ee ? "a secret of the harness" : undefined;
  const publish = {
    microphone: MICROPHONE,
    capture: { resolution: { width, height, frameRate: fps } },
    options: {
      videoCodec: codec,
      backupCodec: false,
      simulcast: layers !== undefined,
      videoSimulcastLayers: layers?.map((layer) => preset({ ...layer, fps })),
      scalabilityMode: mode,
      videoEncoding: { maxBitrate, maxFramerate: fps },
      degradationPreference: "maintain-resolution",
    },
  };
  for (const person of people)
    await person.join(server, room, { options: { dynacast, adaptiveStream: false }, passphrase });
  for (const person of people) await person.publish(publish);
  const readyAfter = await everybodySeesEverybody(people, height, signal);
  await sleep(SETTLE_MS, undefined, { signal });
  return readyAfter;
}

const preset = ({ width, height, maxBitrate, fps }) => ({ width, height, encoding: { maxBitrate, maxFramerate: fps } });

/**
 * Waits for it, and returns how many seconds it took; null, and an explanation, when it did not
 * happen: the figures will tell.
 */
async function everybodySeesEverybody(people, height, signal) {
  const began = Date.now();
  let missing;
  do {
    const views = await Promise.all(
      people.map((person) =>
        person.receives(
          people.filter((it) => it !== person).map(({ name }) => name),
          height,
        ),
      ),
    );
    missing = views.map((view, index) => ({ ...view, name: people[index].name })).filter(({ ready }) => !ready);
    if (missing.length === 0) return (Date.now() - began) / 1000;
    await sleep(500, undefined, { signal });
  } while (Date.now() < began + READY_MS);
  for (const { name, heights, sent } of missing) {
    console.error(
      `${name} does not see everybody at ${height} lines: ${JSON.stringify(heights)}; sends ${JSON.stringify(sent)}`,
    );
  }
}

/**
 * Makes the steps in their time, and returns when they were. A step begins when its rate is set,
 * and ends with the next.
 */
async function follow(steps, cable, network, signal) {
  const made = [];
  let before;
  const finish = (to) => {
    const after = processorTime(network.namespaces);
    const step = made.at(-1);
    if (step) {
      const seconds = (to - step.from) / 1000;
      const own = after.own - before.own;
      const others = after.all - before.all - own;
      Object.assign(step, { to, load: load(), processors: own / seconds, others: others / seconds });
    }
    before = after;
  };
  for (const { seconds, down } of steps) {
    cable.set("down", down);
    const from = now();
    finish(from);
    made.push({ from, ...down });
    await sleep(from + seconds * 1000 - now(), undefined, { signal });
  }
  finish(now());
  return made;
}
