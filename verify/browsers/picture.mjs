// Takes the screenshots of a running meeting for the documents:
// `npm run picture -- meeting.png quality-panel.png`.
//
// Four drawn people instead of the browser's green test video, everything else unchanged.

import { launchBrowser } from "../../testkit/browsers/browser.mjs";
import { drawPerson, PEOPLE } from "./support/drawn.mjs";
import { startServer } from "./support/server.mjs";
import { Visitor } from "./support/visitor.mjs";
import { sleep } from "./support/wait.mjs";

const [meeting = "meeting.png", quality] = process.argv.slice(2);
const ROOM = "Design review";

const server = await startServer();
const browser = await launchBrowser();
try {
  const visitors = [];
  for (const person of PEOPLE) visitors.push(await enter(person));
  const [first, second, third] = visitors;
  for (const visitor of visitors.filter((it) => it !== second)) await visitor.control("Microphone").click();
  await second.says("Morning! The new tile layout is on the branch.");
  await third.says("Looks calm. I like it.");
  await first.says("Let us go through it together.");
  await first.sees("Jun");
  // Waits until the notices of joins have gone.
  await sleep(8000);
  await first.page.locator(".tile-speaking").waitFor();
  await first.page.screenshot({ path: meeting });
  console.log(meeting);
  if (quality) await takeQuality(first);
} finally {
  await browser.close();
  await server.stop();
}

/** The same meeting with the quality of every video shown, and the chat closed. */
async function takeQuality(visitor) {
  await visitor.page.keyboard.press("Escape");
  await visitor.page.locator("body").press("q");
  // Until the rates fill half their curves.
  await sleep(30_000);
  await visitor.page.screenshot({ path: quality });
  console.log(quality);
}

async function enter(person) {
  const visitor = await Visitor.open({ browser, server }, ROOM, { camera: [drawPerson, person] });
  await visitor.enter(person.name);
  return visitor;
}
