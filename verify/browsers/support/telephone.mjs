// A telephone with RTP and G.711 and without WebRTC, and the proxy that sets up its calls.

import { createSocket } from "node:dgram";
import { once } from "node:events";

const LOOPBACK = "127.0.0.1";
const PACKET_MS = 20;
const RATE = 8000;
const SAMPLES = (RATE * PACKET_MS) / 1000;
const PCMU = 0;
const HEADER = 12;

/** A telephone: it sends a tone during a call, and records received audio. */
export class Telephone {
  heard = [];
  /** The descriptions of the other party. */
  told = [];
  /** Whether it sends, as its own description says. */
  speaks = true;
  #sequence = 1;
  #timer;

  static async open() {
    const phone = new Telephone();
    phone.socket = await bound();
    phone.port = phone.socket.address().port;
    phone.socket.on("message", (packet) => {
      if ((packet[1] & 0x7f) === PCMU && packet.length > HEADER) phone.heard.push(packet);
    });
    return phone;
  }

  description({ direction = "sendrecv", version = 1 } = {}) {
    const session = `v=0\r\no=- 7 ${version} IN IP4 ${LOOPBACK}\r\ns=-\r\nc=IN IP4 ${LOOPBACK}\r\nt=0 0\r\n`;
    return `${session}m=audio ${this.port} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\na=${direction}\r\n`;
  }

  /** Sends the tone to the audio address of a description, and nowhere else any more. */
  hum(sdp) {
    this.hush();
    const to = Number(sdp.match(/^m=audio (\d+)/m)[1]);
    const began = performance.now();
    let sent = 0;
    // Timers of a busy process are late, and the clock of a telephone is not.
    this.#timer = setInterval(() => {
      for (; sent * PACKET_MS <= performance.now() - began; sent += 1) {
        if (this.speaks) this.socket.send(this.#packet(), to, LOOPBACK);
      }
    }, PACKET_MS);
  }

  /** How loud the last second was that it heard, from 0 to 1. */
  loudness() {
    const samples = this.heard.slice(-50).flatMap((packet) => [...packet.subarray(HEADER)].map(expand));
    return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(samples.length, 1)) / 32768;
  }

  hush() {
    clearInterval(this.#timer);
  }

  close() {
    this.hush();
    this.socket.close();
  }

  #packet() {
    const packet = Buffer.alloc(HEADER + SAMPLES);
    packet[0] = 0x80;
    packet[1] = PCMU;
    packet.writeUInt16BE(this.#sequence & 0xffff, 2);
    packet.writeUInt32BE((this.#sequence * SAMPLES) >>> 0, 4);
    packet.writeUInt32BE(0xca11, 8);
    for (let n = 0; n < SAMPLES; n += 1) {
      const time = (this.#sequence * SAMPLES + n) / RATE;
      packet[HEADER + n] = compress(8000 * Math.sin(2 * Math.PI * 440 * time));
    }
    this.#sequence += 1;
    return packet;
  }
}

/** Requests of all proxies so far: a repeated cookie gets the old answer. */
let cookies = 0;

/** A SIP proxy, as far as a relay hears of it. */
export class SipProxy {
  static async open(port) {
    const proxy = new SipProxy();
    proxy.socket = await bound();
    proxy.port = port;
    return proxy;
  }

  async ask(request) {
    cookies += 1;
    const cookie = `${process.pid}_${cookies} `;
    this.socket.send(cookie + JSON.stringify(request), this.port, LOOPBACK);
    const [reply] = await once(this.socket, "message", { signal: AbortSignal.timeout(5000) });
    const text = reply.toString();
    if (!text.startsWith(cookie)) throw new Error(`not the answer: ${text}`);
    return JSON.parse(text.slice(cookie.length));
  }

  /** The other party's view of this one's description. */
  async describe(command, call, sdp, wishes) {
    const names = { "call-id": call, "from-tag": "a", ...(command === "answer" ? { "to-tag": "b" } : {}) };
    const reply = await this.ask({ command, ...names, sdp, ...wishes });
    if (reply.result !== "ok") throw new Error(`${command} was refused: ${JSON.stringify(reply)}`);
    return reply.sdp;
  }

  close() {
    this.socket.close();
  }
}

async function bound() {
  const socket = createSocket("udp4");
  socket.bind(0, LOOPBACK);
  await once(socket, "listening");
  return socket;
}

/** A sample in the logarithmic form of G.711 (µ-law). */
function compress(sample) {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(Math.round(sample)), 32635) + 132;
  const exponent = Math.max(0, 24 - Math.clz32(magnitude));
  return ~(sign | (exponent << 4) | ((magnitude >> (exponent + 3)) & 0x0f)) & 0xff;
}

/** And back. */
function expand(byte) {
  const value = ~byte & 0xff;
  const magnitude = ((((value & 0x0f) << 3) + 132) << ((value >> 4) & 7)) - 132;
  return value & 0x80 ? -magnitude : magnitude;
}
