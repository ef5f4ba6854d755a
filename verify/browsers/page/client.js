// A bare participant: unmodified livekit-client and its received media, without anything else.
// Tests reach it as `window.client`.

import { ConnectionErrorReason, Room, RoomEvent, Track, VideoQuality } from "livekit-client";
import { broadcast } from "./broadcast.js";
import { report } from "./report.js";

const decoder = new TextDecoder();

const client = {
  room: undefined,
  /** Names of the room events so far, oldest first, with the identifier of their subject. */
  events: [],
  /** Data packets received. */
  data: [],
  /** Texts received on the chat topic. */
  texts: [],
  /** Pictures with another width than the one before, with their times in milliseconds. */
  widths: [],
  Track,
  VideoQuality,
  broadcast,

  /**
   * Connects. Resolves to `{ error }` when that is refused, so that tests can look at the refusal.
   */
  async join({ url, token, room: roomOptions, connect }) {
    const room = new Room({ disconnectOnPageLeave: false, ...roomOptions });
    client.room = room;
    record(room);
    play(room);
    receive(room);
    try {
      await room.connect(url, token, connect);
      return { identity: room.localParticipant.identity, sid: room.localParticipant.sid };
    } catch (error) {
      // The name of the reason is not kept up to date by the client; its number is.
      const reason = ConnectionErrorReason[error.reason];
      return { error: { name: error.name, message: error.message, reason, status: error.status } };
    }
  },

  /** Publishes camera and microphone. */
  async publish({ camera = true, microphone = true, capture, options } = {}) {
    const person = client.room.localParticipant;
    if (microphone) await person.setMicrophoneEnabled(true);
    if (camera) await person.setCameraEnabled(true, capture, options);
  },

  /**
   * Hums into the microphone, loudly and without a pause. The browser's own fake microphone only
   * beeps now and then.
   */
  async hum(loudness = 0.5) {
    const audio = new AudioContext();
    const tone = new OscillatorNode(audio, { frequency: 220 });
    const mouth = audio.createMediaStreamDestination();
    tone.connect(new GainNode(audio, { gain: loudness })).connect(mouth);
    tone.start();
    const { track } = client.room.localParticipant.getTrackPublication(Track.Source.Microphone);
    await track.replaceTrack(mouth.stream.getAudioTracks()[0]);
  },

  /** Another participant, by identity. */
  person: (identity) => client.room.remoteParticipants.get(identity),

  publication: (identity, source) => client.person(identity)?.getTrackPublication(source),

  stats: () => report(client.room),

  /** The state that the report of a failed test contains. */
  snapshot() {
    const { room, events } = client;
    return {
      state: room?.state,
      others: [...(room?.remoteParticipants.values() ?? [])].map((person) => ({
        identity: person.identity,
        tracks: [...person.trackPublications.values()].map(
          (it) => `${it.source}${it.isSubscribed ? " subscribed" : ""}${it.isMuted ? " muted" : ""}`,
        ),
      })),
      events: events.slice(-25).map((event) => event.join(" ")),
    };
  },
};

function record(room) {
  const noisy = new Set([RoomEvent.ActiveSpeakersChanged, RoomEvent.ConnectionQualityChanged]);
  for (const name of Object.values(RoomEvent)) {
    if (noisy.has(name)) continue;
    room.on(name, (...subjects) => client.events.push([name, ...subjects.map(nameOf).filter(Boolean)]));
  }
  room.on(RoomEvent.ActiveSpeakersChanged, (speakers) => {
    for (const { identity } of speakers) client.events.push([RoomEvent.ActiveSpeakersChanged, identity]);
  });
}

function nameOf(subject) {
  if (typeof subject === "string" || typeof subject === "number") return `${subject}`;
  return subject?.identity ?? subject?.source ?? "";
}

/** Plays everything, as a page would: a browser does not decode audio that is not played. */
function play(room) {
  room.on(RoomEvent.TrackSubscribed, (track, { source }, { identity }) => {
    const element = track.attach();
    element.addEventListener("resize", () => {
      client.widths.push({ from: identity, source, width: element.videoWidth, at: performance.now() });
    });
    document.body.append(element);
  });
  room.on(RoomEvent.TrackUnsubscribed, (track) => {
    for (const element of track.detach()) element.remove();
  });
}

function receive(room) {
  room.on(RoomEvent.DataReceived, (payload, from, kind, topic) => {
    client.data.push({ text: decoder.decode(payload), from: from?.identity, kind, topic });
  });
  room.registerTextStreamHandler("lk.chat", async (reader, from) => {
    client.texts.push({ text: await reader.readAll(), from: from.identity });
  });
}

window.client = client;
