// Can browsers with JsSIP and SIP.js and a telephone call each other through Kamailio, as
// docs/operate/sip.md has it?

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { kamailioIsMissing, startKamailio } from "../support/kamailio.mjs";
import { freePort } from "../support/ports.mjs";
import { SipPhone } from "../support/sip-phone.mjs";
import { SipProxy } from "../support/telephone.mjs";
import { sleep, waitFor } from "../support/wait.mjs";
import { createWorld } from "../support/world.mjs";

/** Packets on their way when a call is put on hold have arrived. */
const SETTLE_MS = 200;

const LIMIT = { timeout: 30_000 };

describe("browsers and a telephone", { skip: kamailioIsMissing(), timeout: 120_000 }, () => {
  let world;
  let kamailio;
  let relay;
  let phones = [];
  before(async () => {
    const control = await freePort();
    const ng = `ng: {listen: "127.0.0.1:${control}"}`;
    // Below the ports of all else.
    const sip = `sip: {${ng}, interfaces: [{address: 127.0.0.1, ports: 16000-21999}], delete_delay: 0}\n`;
    world = await createWorld({ configuration: sip, script: "phones.js" });
    kamailio = await startKamailio(control);
    relay = await SipProxy.open(control);
  });
  after(async () => {
    relay?.close();
    await kamailio?.stop();
    await world?.end();
  });
  beforeEach(() => {
    phones = [];
  });
  afterEach(async () => {
    for (const phone of phones) await phone.close();
    await world.clear();
    assert.deepEqual(kamailio.complaints(), []);
  });

  for (const library of ["JsSIP", "SIP.js"]) {
    it(`${library} calls, both hold and resume, and both refresh the session`, LIMIT, async () => {
      const [browser, telephone] = await Promise.all([browserOf(library, "ada"), telephoneOf("bob")]);
      await browser.call("bob");
      await takes(telephone);
      await changes(browser, telephone);
      await browser.hangUp();
      await over(browser, telephone);
    });

    it(`${library} is called, both hold and resume, and both refresh the session`, LIMIT, async () => {
      const [browser, telephone] = await Promise.all([browserOf(library, "ada"), telephoneOf("bob")]);
      telephone.call("ada");
      await takes(browser);
      await changes(browser, telephone);
      await telephone.hangUp();
      await over(browser, telephone);
    });

    for (const caller of ["a telephone", library]) {
      it(`${caller} calls a browser and a telephone, and each answers one call`, LIMIT, async () => {
        const calling = caller === library ? await browserOf(library, "bob") : await telephoneOf("bob");
        const [browser, telephone] = [await browserOf(library, "ada"), await telephoneOf("ada")];
        await forked(calling, browser, telephone);
        await forked(calling, telephone, browser);
      });
    }
  }

  /** The one that rings takes the call. */
  async function takes(phone) {
    await waitFor("a phone to ring", async () => (await phone.state()) === "ringing");
    await phone.answer();
  }

  /** Two ring, and the first answers. */
  async function forked(caller, taker, late) {
    await caller.call("ada");
    for (const phone of [taker, late]) {
      await waitFor("both to ring", async () => (await phone.state()) === "ringing");
    }
    await taker.answer();
    await waitFor("the other to be silent", async () => (await late.state()).startsWith("ended"));
    await talk(caller, taker);
    await taker.change("refresh");
    await talk(caller, taker);
    await caller.hangUp();
    await over(caller, taker);
  }

  /** Everything that changes an established call. */
  async function changes(browser, telephone) {
    await talk(browser, telephone);
    for (const [holder, held] of [
      [browser, telephone],
      [telephone, browser],
    ]) {
      await holder.change("hold");
      await sleep(SETTLE_MS);
      await waitFor("the one on hold to be silent", async () => (await heard(holder, 300)) <= 2, { interval: 0 });
      await holder.change("resume");
      await talk(holder, held);
      await holder.change("refresh");
      await talk(holder, held);
    }
  }

  /** Both hear the other. */
  async function talk(...both) {
    const begins = async (phone) => {
      await waitFor("a call", async () => (await phone.state()) === "talking", { onTimeout: () => phone.state() });
      await waitFor("to hear the other", async () => (await heard(phone, 100)) >= 3, { interval: 0 });
    };
    await Promise.all(both.map(begins));
    // In some 300 ms: encoders share this machine.
    let counts;
    const flows = async () => {
      counts = await Promise.all(both.map((phone) => heard(phone, 300)));
      return counts.every((count) => count >= 9);
    };
    await waitFor("both to hear nearly every packet", flows, { interval: 0, onTimeout: () => String(counts) });
    // A level is that of a moment, and playing begins after packets arrive.
    const loud = async (phone) =>
      waitFor("it to be loud enough to hear", async () => (await phone.loudness()) > 0.001, {
        onTimeout: () => phone.loudness(),
      });
    await Promise.all(both.map(loud));
  }

  /** The packets that arrive in so many milliseconds. */
  async function heard(phone, time) {
    const first = await phone.packets();
    await sleep(time);
    return (await phone.packets()) - first;
  }

  /** Nobody is in a call, and nothing is left of it at Weir. */
  async function over(...both) {
    for (const phone of both)
      await waitFor("the end", async () => (await phone.state()).startsWith("ended"), {
        onTimeout: () => phone.state(),
      });
    const list = async () => (await relay.ask({ command: "list" })).calls;
    await waitFor("Weir to have no call", async () => (await list()).length === 0, { onTimeout: list });
  }

  async function browserOf(library, user) {
    const { page, errors } = await world.person(user);
    await page.evaluate(
      async ([library, at]) => {
        window.phone = window.client[library]();
        await window.phone.register(at);
      },
      [library, { server: kamailio.browsers, user }],
    );
    const phone = {
      state: () => page.evaluate(() => window.phone.state),
      call: (whom) => page.evaluate((it) => window.phone.call(it), whom),
      answer: () => page.evaluate(() => window.phone.answer()),
      hangUp: () => page.evaluate(() => window.phone.hangUp()),
      change: (how) => page.evaluate((it) => window.phone.change(it), how),
      packets: async () => (await page.evaluate(listen)).packetsReceived,
      loudness: async () => (await page.evaluate(listen)).audioLevel,
      close: async () => {
        await page.evaluate(() => window.phone.close());
        assert.deepEqual(errors, []);
      },
    };
    phones.push(phone);
    return phone;
  }

  async function telephoneOf(user) {
    const telephone = await SipPhone.open(user, kamailio.phones);
    const phone = {
      state: async () => telephone.state,
      call: (whom) => telephone.call(whom),
      answer: () => telephone.answer(),
      hangUp: () => telephone.hangUp(),
      change: (how) => telephone.change(how),
      packets: async () => telephone.media.heard.length,
      loudness: async () => telephone.media.loudness(),
      close: () => telephone.close(),
    };
    phones.push(phone);
    return phone;
  }
});

/** Runs in the page: the received audio. */
async function listen() {
  const report = await window.phone.connection.getStats();
  const found = [...report.values()].find((it) => it.type === "inbound-rtp" && it.kind === "audio");
  const { packetsReceived = 0, audioLevel = 0 } = found ?? {};
  return { packetsReceived, audioLevel };
}
