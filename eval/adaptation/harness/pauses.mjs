// Pauses that the server announced: a video that is paused for lack of room has not frozen.

/**
 * Times at which the server paused the video that `to` gets of `from`. Shape: `[from, to]` in
 * seconds since the first step.
 */
export function announcedPauses({ steps, downlinks = [] }, { to, from }) {
  const pauses = [];
  let began;
  let last;
  for (const { time, receivers } of downlinks) {
    const receiver = receivers.find(({ identity }) => identity === to);
    const picture = receiver?.subscriptions?.find(({ kind, publisher }) => kind === "video" && publisher === from);
    last = (time - steps[0].from) / 1000;
    if (picture?.state === "no_room") {
      began ??= last;
    } else if (began !== undefined) {
      pauses.push([began, last]);
      began = undefined;
    }
  }
  return began === undefined ? pauses : [...pauses, [began, last]];
}

/** Seconds between `from` and `to` that are in a pause. */
export function paused(pauses, from, to) {
  return pauses.reduce((sum, [begins, ends]) => sum + Math.max(0, Math.min(ends, to) - Math.max(begins, from)), 0);
}

/** Seconds of the pauses that ended in this time: a browser counts a freeze when it ends. */
export function endedIn(pauses, from, to) {
  return pauses.filter(([, ends]) => ends >= from && ends < to).reduce((sum, [begins, ends]) => sum + ends - begins, 0);
}
