// A participant: unmodified livekit-client, and a record of everything received. The driver reaches
// it as `window.participant`.

import { ExternalE2EEKeyProvider, Room, RoomEvent, Track } from "livekit-client";
import encryptionWorker from "livekit-client/e2ee-worker?raw";
import { Recorder } from "./recorder.js";

/** Nobody listens: audio processing would only take processor time from the video. */
const AS_HEARD = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };

const participant = {
  room: undefined,
  recorder: undefined,
  events: [],

  async join({ url, token, room: options, passphrase }) {
    const encryption = passphrase && (await encrypted(passphrase));
    const room = new Room({ disconnectOnPageLeave: false, ...options, encryption });
    participant.room = room;
    participant.recorder = new Recorder(room);
    for (const name of [
      RoomEvent.Disconnected,
      RoomEvent.Reconnecting,
      RoomEvent.Reconnected,
      RoomEvent.EncryptionError,
    ]) {
      room.on(name, (what) =>
        participant.events.push([participant.recorder.now(), name, `${what?.message ?? what ?? ""}`]),
      );
    }
    room.on(RoomEvent.TrackSubscribed, (track, _, { identity }) => watch(track, identity));
    if (encryption) await room.setE2EEEnabled(true);
    await room.connect(url, token);
  },

  async publish({ capture, options, microphone }) {
    const person = participant.room.localParticipant;
    if (microphone) await person.setMicrophoneEnabled(true, AS_HEARD, microphone);
    if (capture) await person.setCameraEnabled(true, capture, options);
  },

  /**
   * Whether everybody named is received with moving video of at least this height; otherwise the
   * present state.
   */
  async receives(names, height) {
    const sample = await participant.recorder.sample();
    return {
      ready: names.every((name) => (sample.video[name]?.frameHeight ?? 0) >= height),
      heights: Object.fromEntries(names.map((name) => [name, sample.video[name]?.frameHeight ?? 0])),
      sent: sample.sent,
    };
  },

  /** Everything recorded since this was last asked. */
  take() {
    const others = [...participant.room.remoteParticipants.values()];
    const encrypted = participant.room.isE2EEEnabled && others.every((other) => other.isEncrypted);
    return { ...participant.recorder.take(), events: participant.events.splice(0), encrypted };
  },
};

/** The library's own encryption of frames, in its own worker. */
async function encrypted(passphrase) {
  const keyProvider = new ExternalE2EEKeyProvider();
  await keyProvider.setKey(passphrase);
  const source = URL.createObjectURL(new Blob([encryptionWorker], { type: "text/javascript" }));
  return { keyProvider, worker: new Worker(source, { type: "module" }) };
}

/**
 * Audio is played, as on a page. Frames are only counted: drawing them would cost more than
 * decoding them.
 */
function watch(track, identity) {
  if (track.kind === Track.Kind.Audio) document.body.append(track.attach());
  else participant.recorder.follow(track.mediaStreamTrack, identity);
}

window.participant = participant;
