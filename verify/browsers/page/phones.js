// Browser telephones of two libraries, with one face for the tests.

import JsSIP from "jssip";
import { Inviter, Registerer, RegistererState, SessionState, UserAgent } from "sip.js";

const HOST = "phones.invalid";
const AUDIO = { audio: true, video: false };

/** A telephone of JsSIP. */
class JsSipPhone {
  async register({ server, user }) {
    const socket = new JsSIP.WebSocketInterface(server);
    this.ua = new JsSIP.UA({
      sockets: [socket],
      uri: `sip:${user}@${HOST}`,
      register_expires: 600,
      // Not every telephone knows UPDATE.
      session_timers_refresh_method: "INVITE",
    });
    this.ua.on("newRTCSession", ({ session, originator }) => {
      if (originator !== "remote") return;
      this.session = session;
      this.follow();
    });
    await new Promise((resolve, reject) => {
      this.ua.once("registered", resolve);
      this.ua.once("registrationFailed", ({ cause }) => reject(new Error(cause)));
      this.ua.start();
    });
  }

  call(user) {
    this.session = this.ua.call(`sip:${user}@${HOST}`, { mediaConstraints: AUDIO });
    this.follow();
  }

  follow() {
    this.ended = undefined;
    for (const event of ["ended", "failed"]) this.session.once(event, ({ cause }) => (this.ended = cause));
  }

  answer() {
    this.session.answer({ mediaConstraints: AUDIO });
  }

  hangUp() {
    this.session.terminate();
  }

  /** A re-INVITE: to hold, to resume, or with nothing new. */
  change(how) {
    const { session } = this;
    const action = { hold: session.hold, resume: session.unhold, refresh: session.renegotiate }[how];
    return new Promise((resolve, reject) => {
      // One that is refused ends the call.
      session.once("ended", () => reject(new Error("refused")));
      if (!action.call(session, {}, resolve)) reject(new Error("not possible now"));
    });
  }

  get state() {
    const { session } = this;
    if (this.ended) return `ended: ${this.ended}`;
    if (session?.isEstablished()) return "talking";
    return session?.isInProgress() ? "ringing" : "idle";
  }

  get connection() {
    return this.session?.connection;
  }

  close() {
    this.ua.stop();
  }
}

/** A telephone of SIP.js. */
class SipJsPhone {
  async register({ server, user }) {
    this.ua = new UserAgent({
      uri: UserAgent.makeURI(`sip:${user}@${HOST}`),
      transportOptions: { server },
      logLevel: "error",
      // By default it waits for a STUN server in the Internet.
      sessionDescriptionHandlerFactoryOptions: { peerConnectionConfiguration: { iceServers: [] } },
      delegate: {
        onInvite: (session) => {
          this.session = session;
        },
      },
    });
    await this.ua.start();
    const registerer = new Registerer(this.ua);
    const registered = new Promise((resolve) => {
      registerer.stateChange.addListener((state) => state === RegistererState.Registered && resolve());
    });
    await registerer.register();
    await registered;
  }

  call(user) {
    const media = { constraints: AUDIO };
    this.session = new Inviter(this.ua, UserAgent.makeURI(`sip:${user}@${HOST}`), {
      sessionDescriptionHandlerOptions: media,
    });
    this.session.invite();
  }

  answer() {
    this.session.accept({ sessionDescriptionHandlerOptions: { constraints: AUDIO } });
  }

  hangUp() {
    this.session.bye();
  }

  change(how) {
    return new Promise((resolve, reject) => {
      this.session.invite({
        sessionDescriptionHandlerOptions: { hold: how === "hold" },
        requestDelegate: {
          onAccept: resolve,
          onReject: ({ message }) => reject(new Error(`${message.statusCode}`)),
        },
      });
    });
  }

  get state() {
    switch (this.session?.state) {
      case SessionState.Established:
        return "talking";
      case SessionState.Terminated:
        return "ended";
      case undefined:
        return "idle";
      default:
        return "ringing";
    }
  }

  get connection() {
    return this.session?.sessionDescriptionHandler?.peerConnection;
  }

  close() {
    this.ua.stop();
  }
}

// The level is measured of played audio only.
window.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(...given) {
    super(...given);
    this.addEventListener("track", ({ track }) =>
      Object.assign(new Audio(), { srcObject: new MediaStream([track]) }).play(),
    );
  }
};

window.client = {
  JsSIP: () => new JsSipPhone(),
  "SIP.js": () => new SipJsPhone(),
};
