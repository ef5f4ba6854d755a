// From the steps of a connection to the phases between them.

/**
 * The phases in their order, each from the end of the one before: `[name, step that ends it]`. The
 * steps are those of `page/phases.js`. A phase whose step came earlier than the one before has no
 * length.
 */
export const PHASES = [
  ["first offer", "socketBegun"],
  ["WebSocket", "socketOpen"],
  ["join response", "answered"],
  ["descriptions", "described"],
  ["ICE", "ice:connected"],
  ["DTLS", "dtls:connected"],
  ["first packet", "packet"],
  ["first frame", "frame"],
];

/** The points in time that an application sees. */
export const MILESTONES = [
  ["`connect()` resolved", "connected"],
  ["first track subscribed", "subscribed"],
  ["first frame decoded", "frame"],
  ["first frame shown", "shown"],
];

/** Completes the steps of one connection by those that follow from others. */
export function complete(marks) {
  return {
    ...marks,
    // The client has both descriptions: it answered an offer, or got the answer to its own.
    described: marks.answerSent ?? marks.answerReceived,
    // Chromium leaves out a state that lasts for less than a task.
    "ice:connected": marks["ice:connected"] ?? marks["ice:completed"],
    // The application gets the track with the event.
    shown: Math.max(marks.subscribed, marks.frame),
  };
}

/** The lengths of the phases of one connection, by name. A step that was not seen ends no phase. */
export function phases(marks) {
  let before = 0;
  const lengths = {};
  for (const [name, step] of PHASES) {
    const at = marks[step];
    if (at === undefined) continue;
    lengths[name] = Math.max(0, at - before);
    before = Math.max(before, at);
  }
  return lengths;
}

/** The value below which this share of the values lies; undefined of none. */
export function quantile(values, share) {
  const sorted = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
