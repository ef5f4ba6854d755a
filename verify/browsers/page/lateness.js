// How late this page is with what it means to do. A machine with too much to do freezes pictures by
// itself, and this is how a test can tell.

const EVERY_MS = 50;

let due = performance.now() + EVERY_MS;
let worst = 0;

setInterval(() => {
  const now = performance.now();
  worst = Math.max(worst, now - due);
  due = now + EVERY_MS;
}, EVERY_MS);

/** The worst lateness since this was last called, in milliseconds. */
export function takeLateness() {
  const late = Math.round(worst);
  worst = 0;
  return late;
}
