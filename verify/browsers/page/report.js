// Turns getStats() of everything a room sends and receives into a few flat rows.

/**
 * Shape: `{ sent, received, transports }`; frames, packets and samples are totals since the stream
 * began.
 */
export async function report(room) {
  const sent = [];
  const received = [];
  const transports = new Map();
  for (const publication of room.localParticipant.trackPublications.values()) {
    const stats = await statsOf(publication.track?.sender);
    sent.push(...rows(stats, "outbound-rtp").map((row) => sentRow(row, publication, stats)));
    noteTransports(stats, transports);
  }
  for (const person of room.remoteParticipants.values()) {
    for (const publication of person.trackPublications.values()) {
      const stats = await statsOf(publication.track?.receiver);
      received.push(...rows(stats, "inbound-rtp").map((row) => receivedRow(row, publication, person, stats)));
      noteTransports(stats, transports);
    }
  }
  return { sent, received, transports: [...transports.values()] };
}

async function statsOf(endpoint) {
  return endpoint ? new Map(await endpoint.getStats()) : new Map();
}

function rows(stats, type) {
  return [...stats.values()].filter((row) => row.type === type);
}

function codecOf(row, stats) {
  return stats.get(row.codecId)?.mimeType?.split("/")[1] ?? "";
}

function sentRow(row, publication, stats) {
  const { rid = "", frameHeight = 0, framesSent = 0, framesEncoded = 0, packetsSent = 0, scalabilityMode = "" } = row;
  return {
    source: publication.source,
    kind: row.kind,
    codec: codecOf(row, stats),
    scalabilityMode,
    rid,
    frameHeight,
    framesSent,
    framesEncoded,
    packetsSent,
  };
}

const RECEIVED = [
  "framesDecoded",
  "framesReceived",
  "framesDropped",
  "keyFramesDecoded",
  "frameHeight",
  "freezeCount",
  "totalFreezesDuration",
  "packetsReceived",
  "packetsLost",
  "nackCount",
  "pliCount",
  "totalSamplesReceived",
  "concealedSamples",
  "silentConcealedSamples",
];

function receivedRow(row, publication, person, stats) {
  const figures = Object.fromEntries(RECEIVED.map((name) => [name, row[name] ?? 0]));
  return { from: person.identity, source: publication.source, kind: row.kind, codec: codecOf(row, stats), ...figures };
}

function noteTransports(stats, transports) {
  for (const row of rows(stats, "transport")) {
    const { srtpCipher = "", dtlsCipher = "", dtlsState = "", tlsVersion = "" } = row;
    transports.set(`${row.id} ${row.dtlsRole}`, { srtpCipher, dtlsCipher, dtlsState, tlsVersion });
  }
}
