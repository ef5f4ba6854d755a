import { ActionButton } from "../ActionButton";
import { type Api, pathOf } from "../api";
import type { PublishedTrack } from "../views";
import { escaped, spaced } from "../words";

interface Properties {
  api: Api;
  room: string;
  identity: string;
  tracks: PublishedTrack[];
  onDone(): void;
}

/** The tracks that a participant sends. */
export function SentTracks({ api, room, identity, tracks, onDone }: Properties) {
  return (
    <section aria-labelledby="sends" className="admin-card">
      <h2 id="sends">Sends</h2>
      {tracks.length === 0 && <p className="quiet">Nothing is published.</p>}
      <ul className="admin-tracks">
        {tracks.map((track) => (
          <li key={track.id}>
            <span>
              {spaced(track.source)}, {track.kind}
              {track.is_muted && <span className="admin-badge">muted</span>}
            </span>
            {api.bearer.may_moderate && !track.is_muted && (
              <ActionButton
                words={`Mute ${spaced(track.source)}`}
                question={`Mute the ${spaced(track.source)} of ${escaped(identity)}? Its own client can unmute it.`}
                act={() => api.act("POST", `${pathOf(room, identity, track.id)}/mute`)}
                onDone={onDone}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
