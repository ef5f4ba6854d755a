import { chromium } from "playwright-core";

const FLAGS = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--use-fake-device-for-media-stream",
  "--use-fake-ui-for-media-stream",
  "--autoplay-policy=no-user-gesture-required",
  // The only screen a headless browser has is a fake one; this answers the question which to share.
  "--auto-select-desktop-capture-source=Entire screen",
  // A page in the background of one browser is a person at another machine: none may be slowed
  // down.
  "--disable-background-timer-throttling",
  "--disable-backgrounding-occluded-windows",
  "--disable-renderer-backgrounding",
];

const PROGRAM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/**
 * One browser with a fresh profile; a participant is a context in it, with its own renderer
 * process.
 *
 * `program` is the command that starts Chromium, if that is more than its name.
 */
export function launchBrowser(flags = [], program = PROGRAM) {
  return chromium.launch({
    executablePath: program,
    args: [...FLAGS, ...flags],
    timeout: 30_000,
  });
}
