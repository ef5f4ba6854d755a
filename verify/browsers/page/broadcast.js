// A publisher by WHIP and a player by WHEP: unmodified `whip-whep` from npm. Tests reach them as
// `window.client.broadcast`.

import { WHEPClient } from "whip-whep/whep.js";
import { WHIPClient } from "whip-whep/whip.js";

const LAYERS = [
  { rid: "h", scaleResolutionDownBy: 2 },
  { rid: "f", scaleResolutionDownBy: 1 },
];

export const broadcast = {
  /** A session of each protocol: its client, its connection, and its requests. */
  whip: undefined,
  whep: undefined,

  /** Publishes the microphone, and the camera in two layers. */
  async publish({ url, token }) {
    const { client, connection } = begin("whip", new WHIPClient());
    const video = { width: 640, height: 360, frameRate: 20 };
    const media = await navigator.mediaDevices.getUserMedia({ audio: true, video });
    connection.addTransceiver(media.getAudioTracks()[0], { direction: "sendonly" });
    connection.addTransceiver(media.getVideoTracks()[0], { direction: "sendonly", sendEncodings: LAYERS });
    await client.publish(connection, `${url}/whip/v1`, token);
  },

  /** Plays a participant, as the package's own example does. */
  async play({ url, token, participant }) {
    const { client, connection } = begin("whep", new WHEPClient());
    connection.addTransceiver("audio");
    connection.addTransceiver("video");
    connection.ontrack = ({ track, streams }) => {
      if (track.kind !== "video") return;
      const element = document.createElement("video");
      element.autoplay = true;
      element.srcObject = streams[0];
      document.body.append(element);
    };
    await client.view(connection, `${url}/whep/v1?participant=${participant}`, token);
  },

  /** Whether a session has told all of its candidates and been answered. */
  isSettled(protocol) {
    const { connection, requests, unanswered } = broadcast[protocol];
    return connection.iceGatheringState === "complete" && requests.length > 1 && unanswered === 0;
  },

  /** The pair of candidates in use, and totals of what was received. */
  async figures(protocol) {
    const rows = [...(await broadcast[protocol].connection.getStats()).values()];
    const received = (kind) => rows.find((row) => row.type === "inbound-rtp" && row.kind === kind);
    // Firefox marks the pair, and Chromium names it.
    const named = rows.find((row) => row.type === "transport")?.selectedCandidatePairId;
    const pair = rows.find((row) => row.type === "candidate-pair" && (row.selected || row.id === named));
    return {
      pair: pair?.id,
      packets: received("audio")?.packetsReceived ?? 0,
      frames: received("video")?.framesDecoded ?? 0,
    };
  },
};

function begin(protocol, client) {
  const connection = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
  // A request is noted as its method and the status of its answer.
  broadcast[protocol] = { client, connection, requests: [], unanswered: 0 };
  return broadcast[protocol];
}

const ask = window.fetch.bind(window);
window.fetch = async (url, options) => {
  const session = broadcast[new URL(url, window.location).pathname.split("/")[1]];
  if (!session) return ask(url, options);
  session.unanswered += 1;
  try {
    const answer = await ask(url, options);
    session.requests.push(`${options.method} ${answer.status}`);
    return answer;
  } finally {
    session.unanswered -= 1;
  }
};
