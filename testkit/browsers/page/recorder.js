// Received media, five times a second from getStats(), and every decoded frame with its time.

const EVERY_MS = 200;
/** Frames that wait to be recorded, when several leave the decoder at once. */
const PICTURES_MAX = 60;

/** Every peer connection there is, in order of creation: one or two, as the library chooses. */
const connections = [];

const Native = window.RTCPeerConnection;
window.RTCPeerConnection = class extends Native {
  constructor(...configuration) {
    super(...configuration);
    connections.push(this);
  }
};

const RECEIVED = [
  "frameWidth",
  "frameHeight",
  "framesDecoded",
  "framesReceived",
  "framesDropped",
  "framesPerSecond",
  "keyFramesDecoded",
  "freezeCount",
  "totalFreezesDuration",
  "pauseCount",
  "totalPausesDuration",
  "bytesReceived",
  "packetsReceived",
  "packetsLost",
  "retransmittedPacketsReceived",
  "nackCount",
  "pliCount",
  "jitter",
  "jitterBufferDelay",
  "jitterBufferTargetDelay",
  "jitterBufferEmittedCount",
];
const HEARD = ["bytesReceived", "packetsReceived", "packetsLost", "concealedSamples", "totalSamplesReceived"];
const SENT = [
  "frameWidth",
  "frameHeight",
  "framesSent",
  "framesEncoded",
  "keyFramesEncoded",
  "bytesSent",
  "nackCount",
  "pliCount",
  "targetBitrate",
];

const pick = (row, names) => Object.fromEntries(names.map((name) => [name, row[name] ?? 0]));

/** Records one room. */
export class Recorder {
  /** Since 1970 in milliseconds, on the clock everybody on this machine shares. */
  now = () => performance.timeOrigin + performance.now();

  constructor(room) {
    this.room = room;
    this.samples = [];
    /** `[time, height]` of every frame, by the participant of its camera. */
    this.pictures = {};
    this.late = 0;
    this.#keepSampling();
  }

  /** Records every frame of a track as it leaves the decoder. */
  async follow(track, identity) {
    const pictures = this.pictures;
    pictures[identity] ??= [];
    const reader = new MediaStreamTrackProcessor({ track, maxBufferSize: PICTURES_MAX }).readable.getReader();
    for (;;) {
      const { value: picture, done } = await reader.read();
      if (done) return;
      pictures[identity].push([this.now(), picture.displayHeight]);
      picture.close();
    }
  }

  async sample() {
    const sample = { time: this.now(), video: {}, audio: {}, sent: {}, roundTrip: undefined, available: undefined };
    const owners = this.#owners();
    for (const connection of connections) {
      if (connection.connectionState === "closed") continue;
      const stats = new Map(await connection.getStats());
      for (const row of stats.values()) this.#note(row, stats, owners, sample);
    }
    return sample;
  }

  /** Everything since this was last asked. */
  take() {
    const taken = { samples: this.samples, pictures: {}, late: Math.round(this.late) };
    this.samples = [];
    for (const [identity, pictures] of Object.entries(this.pictures)) taken.pictures[identity] = pictures.splice(0);
    this.late = 0;
    return taken;
  }

  async #keepSampling() {
    for (let due = this.now() + EVERY_MS; ; due += EVERY_MS) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - this.now())));
      // Lateness of this page's timers: an overloaded machine freezes video by itself.
      const late = this.now() - due;
      this.late = Math.max(this.late, late);
      if (late > EVERY_MS) due += Math.floor(late / EVERY_MS) * EVERY_MS;
      this.samples.push(await this.sample());
    }
  }

  /** The participant of each received track. */
  #owners() {
    const owners = new Map();
    for (const person of this.room.remoteParticipants.values()) {
      for (const { track } of person.trackPublications.values()) {
        if (track) owners.set(track.mediaStreamTrack.id, person.identity);
      }
    }
    return owners;
  }

  #note(row, stats, owners, sample) {
    if (row.type === "inbound-rtp") {
      const owner = owners.get(row.trackIdentifier);
      if (owner === undefined) return;
      if (row.kind === "audio") sample.audio[owner] = pick(row, HEARD);
      // A stream that ended stays in the list beside its successor.
      const before = sample.video[owner]?.framesDecoded ?? -1;
      if (row.kind === "video" && row.framesDecoded >= before) {
        sample.video[owner] = { ...pick(row, RECEIVED), codec: stats.get(row.codecId)?.mimeType ?? "" };
      }
    } else if (row.type === "outbound-rtp" && row.kind === "video") {
      const { qualityLimitationReason: limit = "", scalabilityMode: mode = "", active = true } = row;
      sample.sent[row.rid ?? "only"] = { ...pick(row, SENT), limit, mode, active };
    } else if (row.type === "remote-inbound-rtp") {
      sample.reported = row.roundTripTime ?? sample.reported;
    } else if (row.type === "candidate-pair" && row.nominated && row.state === "succeeded") {
      sample.roundTrip = row.currentRoundTripTime;
      sample.available = row.availableOutgoingBitrate ?? sample.available;
    }
  }
}
