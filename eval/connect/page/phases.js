// Times of the steps from `connect()` to the first frame, taken at the browser's own interfaces, so
// that the library under them is unchanged. All are milliseconds since `begin()`.

/** The steps of the connection under way. */
let current;

/** Starts a new record. */
export function begin() {
  current = { began: performance.now(), marks: {}, connections: [] };
  return current;
}

/** Notes a step, the first time that it happens. */
export function mark(name, marks = current?.marks) {
  if (current && marks) marks[name] ??= performance.now() - current.began;
}

const NativeSocket = window.WebSocket;
window.WebSocket = class extends NativeSocket {
  constructor(...address) {
    super(...address);
    mark("socketBegun");
    this.addEventListener("open", () => mark("socketOpen"), { once: true });
    this.addEventListener("message", () => mark("answered"), { once: true });
  }
};

const NativeConnection = window.RTCPeerConnection;
window.RTCPeerConnection = class extends NativeConnection {
  #marks = {};
  #transports = new Set();

  constructor(...configuration) {
    super(...configuration);
    const record = current;
    record?.connections.push({ connection: this, marks: this.#marks });
    this.#mark("created");
    this.addEventListener("track", ({ track, receiver }) => this.#follow(track, receiver));
  }

  async setLocalDescription(...description) {
    const done = await super.setLocalDescription(...description);
    this.#mark(this.localDescription?.type === "offer" ? "offered" : "answerSent");
    this.#watchTransports();
    return done;
  }

  async setRemoteDescription(...description) {
    this.#mark(description[0]?.type === "offer" ? "offerReceived" : "answerReceived");
    const done = await super.setRemoteDescription(...description);
    this.#watchTransports();
    return done;
  }

  #mark(name) {
    mark(name, this.#marks);
  }

  /** Notes the states of the transports. All sections of a description share one. */
  #watchTransports() {
    const transports = [this.sctp?.transport, ...this.getReceivers().map(({ transport }) => transport)];
    for (const dtls of transports) {
      if (!dtls || this.#transports.has(dtls)) continue;
      this.#transports.add(dtls);
      this.#note("ice", dtls.iceTransport);
      this.#note("dtls", dtls);
    }
  }

  #note(layer, transport) {
    const note = () => this.#mark(`${layer}:${transport.state}`);
    note();
    transport.addEventListener("statechange", note);
  }

  /** The first packet of a video ends the muted state of its track; then its frames are read. */
  #follow(track, receiver) {
    if (track.kind !== "video" || "track" in this.#marks) return;
    this.#mark("track");
    if (!track.muted) this.#mark("packet");
    track.addEventListener("unmute", () => this.#mark("packet"), { once: true });
    const record = current;
    record.frame = firstFrame(track).then(async () => {
      this.#mark("frame");
      record.video = this.#marks;
      record.stats = await statistics(receiver);
    });
    record.begun?.();
  }
};

/** Waits for a track's first decoded frame. */
async function firstFrame(track) {
  const reader = new MediaStreamTrackProcessor({ track, maxBufferSize: 1 }).readable.getReader();
  const { value: frame, done } = await reader.read();
  frame?.close();
  await reader.cancel();
  if (done) throw new Error("the track ended before its first frame");
}

const COUNTS = ["packetsReceived", "packetsDiscarded", "framesReceived", "framesDecoded", "framesDropped", "pliCount"];
const TIMES = ["jitterBufferDelay", "totalAssemblyTime", "totalDecodeTime", "totalProcessingDelay"];

/**
 * Counts until just after the first frame, and how long it was collected, decoded and held. Times
 * are in milliseconds.
 */
async function statistics(receiver) {
  for (const row of (await receiver.getStats()).values()) {
    if (row.type !== "inbound-rtp") continue;
    const counts = Object.fromEntries(COUNTS.map((name) => [name, row[name] ?? 0]));
    const frames = Math.max(1, row.framesDecoded ?? 0);
    const times = Object.fromEntries(TIMES.map((name) => [name, ((row[name] ?? 0) / frames) * 1000]));
    return { ...counts, ...times };
  }
  return {};
}
