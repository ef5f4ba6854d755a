// A telephone without WebRTC that speaks SIP over UDP: signalling by SIP.js, media by `Telephone`.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { EmitterImpl, Inviter, Registerer, RegistererState, SessionState, TransportState, UserAgent } from "sip.js";
import { Telephone } from "./telephone.mjs";

const LOOPBACK = "127.0.0.1";
const HOST = "phones.invalid";

/** A telephone that is registered at a proxy's port. */
export class SipPhone {
  static async open(user, proxy) {
    const socket = createSocket("udp4");
    socket.bind(0, LOOPBACK);
    await once(socket, "listening");
    const phone = new SipPhone();
    phone.media = await Telephone.open();
    phone.ua = new UserAgent({
      uri: UserAgent.makeURI(`sip:${user}@${HOST}`),
      viaHost: LOOPBACK,
      contactName: user,
      contactParams: { transport: "udp" },
      forceRport: true,
      logLevel: "error",
      transportConstructor: Datagrams,
      transportOptions: { socket, proxy },
      sessionDescriptionHandlerFactory: () => new PlainAudio(phone.media),
      delegate: { onInvite: (session) => Object.assign(phone, { session }) },
    });
    phone.ua.contact.uri.port = socket.address().port;
    await phone.ua.start();
    const registerer = new Registerer(phone.ua);
    const registered = new Promise((resolve) => {
      registerer.stateChange.addListener((state) => state === RegistererState.Registered && resolve());
    });
    await registerer.register();
    await registered;
    return phone;
  }

  call(user) {
    this.session = new Inviter(this.ua, UserAgent.makeURI(`sip:${user}@${HOST}`));
    return this.session.invite();
  }

  answer() {
    return this.session.accept();
  }

  hangUp() {
    return this.session.bye();
  }

  /** A re-INVITE: to hold, to resume, or with nothing new. */
  change(how) {
    return new Promise((resolve, reject) => {
      this.session.invite({
        sessionDescriptionHandlerOptions: { hold: how === "hold" },
        requestDelegate: {
          onAccept: resolve,
          onReject: ({ message }) => reject(new Error(`${message.statusCode} ${message.reasonPhrase}`)),
        },
      });
    });
  }

  get state() {
    const states = { [SessionState.Established]: "talking", [SessionState.Terminated]: "ended" };
    return this.session ? (states[this.session.state] ?? "ringing") : "idle";
  }

  async close() {
    await this.ua.stop();
    this.media.close();
  }
}

/** SIP in datagrams, as a transport of SIP.js. */
class Datagrams {
  stateChange = new EmitterImpl();
  state = TransportState.Disconnected;
  protocol = "UDP";

  constructor(_logger, { socket, proxy }) {
    Object.assign(this, { socket, proxy });
    socket.on("message", (message) => this.onMessage?.(message.toString()));
  }

  async connect() {
    this.#become(TransportState.Connecting);
    this.#become(TransportState.Connected);
    this.onConnect?.();
  }

  async disconnect() {
    if (!this.isConnected()) return;
    this.#become(TransportState.Disconnecting);
    this.#become(TransportState.Disconnected);
    this.onDisconnect?.();
  }

  async dispose() {
    await this.disconnect();
    this.socket.close();
  }

  isConnected() {
    return this.state === TransportState.Connected;
  }

  async send(message) {
    this.socket.send(message, this.proxy, LOOPBACK);
  }

  #become(state) {
    this.state = state;
    this.stateChange.emit(state);
  }
}

/** Descriptions of a telephone with G.711 alone. */
class PlainAudio {
  #version = 0;
  /** The direction that the other party offers, until it is answered. */
  #offered;
  #offers = false;

  constructor(media) {
    this.media = media;
  }

  hasDescription(type) {
    return type === "application/sdp";
  }

  async getDescription({ hold = false } = {}) {
    const wanted = hold ? "sendonly" : "sendrecv";
    const direction = this.#offered ? answerTo(this.#offered) : wanted;
    this.#offers = !this.#offered;
    this.#offered = undefined;
    this.#version += 1;
    const body = this.media.description({ direction, version: this.#version });
    this.media.speaks = direction !== "recvonly" && direction !== "inactive";
    return { body, contentType: "application/sdp" };
  }

  async setDescription(sdp) {
    this.media.told.push(sdp);
    const direction = sdp.match(/^a=(sendrecv|sendonly|recvonly|inactive)\r$/m)?.[1] ?? "sendrecv";
    this.#offered = this.#offers ? undefined : direction;
    this.#offers = false;
    this.media.hum(sdp);
  }

  sendDtmf() {
    return false;
  }

  close() {
    this.media.hush();
  }
}

const answerTo = (direction) => ({ sendonly: "recvonly", recvonly: "sendonly" })[direction] ?? direction;
