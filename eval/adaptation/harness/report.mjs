// The figures of one run on the terminal.

/** Prints the results of one run. */
export function print(result) {
  const { steps, views, late, limits, frames, readyAfter } = result;
  for (const view of views) {
    console.log(`${view.to} sees ${view.from}${view.limited ? " (limited)" : ""}, ${view.codec}`);
    for (const [index, it] of view.steps.entries()) console.log(`  ${stepName(steps[index])}: ${sentence(it)}`);
    if (view.limited)
      console.log(
        `  full size ${view.recovery.size ?? "never"} s, full rate ${view.recovery.rate ?? "never"} s after the last step began`,
      );
  }
  console.log(`everybody saw everybody in full size ${readyAfter ?? "never"} s after joining`);
  const busy = steps.map(({ processors, others }) => `${processors}+${others}`).join(" ");
  console.log(
    `processors used by the harness + by others ${busy}, pages late by at most ${JSON.stringify(late)} ms, senders held back by ${JSON.stringify(limits)}`,
  );
  console.log(`cable: ${JSON.stringify(frames)}`);
}

export function stepName({ rate, loss }) {
  const words = [rate === null ? "not limited" : rate >= 1e6 ? `${rate / 1e6} Mbit/s` : `${rate / 1e3} kbit/s`];
  if (loss && loss !== "0%") words.push(`${loss} loss`);
  return words.join(", ");
}

function sentence(it) {
  return [
    `${it.height} lines`,
    `${it.fps} fps`,
    `${it.kbit} kbit/s`,
    `frozen ${it.frozen} s in ${it.freezes}`,
    `longest gap ${it.gap} s`,
    ...(it.paused > 0 ? [`paused ${it.paused} s`] : []),
    `decoded ${it.decoded} of ${it.sent} (${(100 * it.share).toFixed(1)} %)`,
    `lost ${it.lost}/${it.received}`,
    `nack ${it.nacks} pli ${it.plis} key ${it.keyFrames}`,
    `rtt ${it.roundTripMs} ms`,
    `full size ${(100 * it.full).toFixed(1)} %`,
    `least ${it.slowest} fps`,
  ].join(", ");
}
