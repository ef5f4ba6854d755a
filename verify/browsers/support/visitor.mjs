import { waitFor } from "./wait.mjs";

const WIDE = { width: 1280, height: 720 };

/** A person at the meeting page. */
export class Visitor {
  constructor(room, context, page) {
    Object.assign(this, { room, context, page, errors: [], foreignRequests: [] });
    page.setDefaultTimeout(20_000);
    page.on("pageerror", (error) => this.errors.push(error.message));
  }

  /**
   * Opens the page of a room. `camera` replaces the browser's cameras: a script to run first, and
   * its argument. `prepare` is given the page before anything is loaded.
   */
  static async open({ browser, server }, room, { viewport = WIDE, token, camera, prepare } = {}) {
    const context = await browser.newContext({ viewport, permissions: ["camera", "microphone"] });
    if (camera) await context.addInitScript(...camera);
    const page = await context.newPage();
    const visitor = new Visitor(room, context, page);
    await prepare?.(page);
    page.on("request", (request) => {
      if (/^(http|ws)/.test(request.url()) && !request.url().startsWith(server.url)) {
        visitor.foreignRequests.push(request.url());
      }
    });
    await page.goto(`${server.url}/?room=${encodeURIComponent(room)}${token ? `#token=${token}` : ""}`);
    return visitor;
  }

  async tryToEnter(name) {
    await this.page.getByLabel("Your name").fill(name);
    await this.page.getByRole("button", { name: "Join the meeting" }).click();
  }

  async enter(name) {
    await this.tryToEnter(name);
    await this.inside();
  }

  inside() {
    return this.control("Microphone").waitFor();
  }

  /** A control of the meeting, by its name. */
  control(name) {
    return this.page.getByRole("toolbar").getByRole("button", { name });
  }

  /** The tile of a person's camera. */
  tile(name) {
    return this.page.locator("article[data-source=camera]").filter({ hasText: name });
  }

  /** Waits until a person's video is shown, moves, and is not blank. */
  async sees(name) {
    await this.playing(this.tile(name).locator("video"));
  }

  async playing(video) {
    await video.waitFor();
    let earlier;
    await waitFor("a picture that moves", async () => {
      const picture = await video.evaluate(lookAt);
      const moves = earlier !== undefined && picture.time > earlier;
      earlier ??= picture.time;
      return moves && picture.spread > 0;
    });
  }

  async says(text) {
    await this.control(/^Chat/).click();
    await this.writes(text);
  }

  async writes(text) {
    await this.page.getByLabel("Message", { exact: true }).fill(text);
    await this.page.keyboard.press("Enter");
  }

  alert(words) {
    return this.page.getByRole("alert").filter({ hasText: words }).waitFor();
  }

  close() {
    return this.context.close();
  }
}

/**
 * Position of a video, and the difference between its brightest and darkest samples: a blank one
 * has none.
 */
function lookAt(video) {
  const canvas = document.createElement("canvas");
  canvas.width = 32;
  canvas.height = 18;
  const context = canvas.getContext("2d");
  context.drawImage(video, 0, 0, canvas.width, canvas.height);
  const green = context.getImageData(0, 0, canvas.width, canvas.height).data.filter((_, index) => index % 4 === 1);
  return { time: video.currentTime, spread: Math.max(...green) - Math.min(...green) };
}

/** A camera the person does not allow. */
export function refusedCamera() {
  const devices = navigator.mediaDevices;
  const ask = devices.getUserMedia.bind(devices);
  devices.getUserMedia = (wanted) =>
    wanted?.video ? Promise.reject(new DOMException("Permission denied", "NotAllowedError")) : ask(wanted);
}
