import { useState } from "react";
import { ActionButton } from "../ActionButton";
import { hashOf } from "../address";
import { type Api, pathOf } from "../api";
import { Name } from "../Name";
import { Trouble } from "../Trouble";
import { usePoll } from "../usePoll";
import type { ParticipantPage } from "../views";
import { duration, escaped } from "../words";
import { Downlink } from "./Downlink";
import { SentTracks } from "./SentTracks";
import { TimelinePart } from "./TimelinePart";
import { VerdictPart } from "./VerdictPart";

const INTERVAL = 3000;

const SPANS = [
  { since: "10m", words: "10 minutes" },
  { since: "1h", words: "hour" },
  { since: "1d", words: "day" },
];

interface Properties {
  api: Api;
  room: string;
  identity: string;
}

/** One participant: what was wrong, what it gets, and what happened. */
export function ParticipantView({ api, room, identity }: Properties) {
  const [since, setSince] = useState("10m");
  const query = new URLSearchParams({ room, identity, limit: "1" });
  const { data, error, refresh } = usePoll<ParticipantPage>(api, `/api/participants?${query}`, INTERVAL);
  const participant = data?.participants[0];
  const path = pathOf(room, identity);
  return (
    <section aria-labelledby="participant">
      <p className="admin-crumb">
        <a href={hashOf({ at: "rooms" })}>Rooms</a> / <a href={hashOf({ at: "room", room })}>{<Name>{room}</Name>}</a>
      </p>
      <div className="admin-title">
        <h1 id="participant">
          <Name>{identity}</Name>
        </h1>
        {api.bearer.may_moderate && participant && (
          <ActionButton
            words="Remove"
            question={`Remove ${escaped(identity)} from ${escaped(room)}? With its token it can join again.`}
            act={() => api.act("DELETE", path)}
            onDone={refresh}
          />
        )}
      </div>
      <Trouble error={error} />
      {data && !participant && <p role="status">This participant is not in the room now.</p>}
      {participant && (
        <p role="status">
          {participant.is_connected ? "Connected" : "Media is not connected"}, in the room for{" "}
          {duration(Date.now() - participant.joined_at_ms)}
          {participant.name && (
            <>
              , shown as <Name>{participant.name}</Name>
            </>
          )}
        </p>
      )}
      <label className="field admin-span">
        Time to explain
        <select value={since} onChange={(event) => setSince(event.target.value)}>
          {SPANS.map((span) => (
            <option key={span.since} value={span.since}>
              The last {span.words}
            </option>
          ))}
        </select>
      </label>
      <VerdictPart api={api} path={`${path}/verdict?since=${since}`} />
      {participant && <Downlink api={api} room={room} identity={identity} />}
      {participant && (
        <SentTracks api={api} room={room} identity={identity} tracks={participant.tracks} onDone={refresh} />
      )}
      <TimelinePart api={api} path={`${path}/timeline?since=${since}`} />
    </section>
  );
}
