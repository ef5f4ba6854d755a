// A participant: unmodified livekit-client. The driver reaches it as `window.participant`.

// The interfaces that it watches are replaced before the library uses them.
import { begin, mark } from "./phases.js";
import { Room, RoomEvent, Track } from "livekit-client";

const participant = {
  room: undefined,

  /** Joins, and publishes the camera until the page is closed. */
  async publish({ url, token, capture, options }) {
    const room = new Room({ disconnectOnPageLeave: false, dynacast: false });
    participant.room = room;
    await room.connect(url, token);
    await room.localParticipant.setCameraEnabled(true, capture, options);
  },

  /** Leaves. */
  async leave() {
    await participant.room?.disconnect();
    participant.room = undefined;
  },

  /** Joins, waits for the first frame of the video, and leaves; returns when each step was. */
  async measure({ url, token, options, limitMs }) {
    const record = begin();
    const media = new Promise((resolve) => {
      record.begun = resolve;
    });
    const room = new Room({ disconnectOnPageLeave: false, adaptiveStream: false, ...options });
    const subscribed = new Promise((resolve) => {
      room.on(RoomEvent.TrackSubscribed, (track) => {
        if (track.kind !== Track.Kind.Video) return;
        mark("subscribed");
        resolve();
      });
    });
    const connected = room.connect(url, token).then(() => mark("connected"));
    const frame = media.then(() => record.frame);
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no frame after ${limitMs} ms\n${steps(record)}`)), limitMs);
    });
    try {
      await Promise.race([Promise.all([connected, subscribed, frame]), late]);
      return {
        marks: { ...record.marks, ...record.video },
        connections: record.connections.length,
        stats: record.stats,
      };
    } finally {
      clearTimeout(timer);
      await room.disconnect();
    }
  },
};

function steps({ marks, connections }) {
  return JSON.stringify([marks, ...connections.map((connection) => connection.marks)]);
}

window.participant = participant;
