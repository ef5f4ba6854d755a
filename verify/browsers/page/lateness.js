// Lateness of this page's timers. An overloaded machine freezes video by itself, and a test detects
// that here.

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
