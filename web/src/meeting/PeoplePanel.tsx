import { useIsMuted, useIsSpeaking, useParticipants } from "@livekit/components-react";
import { type Participant, Track } from "livekit-client";
import { Avatar } from "../ui/Avatar";
import { Icon } from "../ui/Icon";
import { Panel } from "./Panel";
import { nameOf } from "./person";

/** The list of participants. */
export function PeoplePanel({ onClose }: { onClose: () => void }) {
  const people = useParticipants();
  return (
    <Panel title="People" onClose={onClose}>
      <ul className="people">
        {people.map((person) => (
          <Person key={person.identity} person={person} />
        ))}
      </ul>
    </Panel>
  );
}

function Person({ person }: { person: Participant }) {
  const speaking = useIsSpeaking(person);
  return (
    <li className={speaking ? "person person-speaking" : "person"}>
      <Avatar name={nameOf(person)} small />
      <span className="person-name">
        {nameOf(person)}
        {person.isLocal && <span className="quiet"> (you)</span>}
      </span>
      <SourceState person={person} source={Track.Source.Camera} />
      <SourceState person={person} source={Track.Source.Microphone} />
    </li>
  );
}

function SourceState({
  person,
  source,
}: {
  person: Participant;
  source: Track.Source.Camera | Track.Source.Microphone;
}) {
  const off = useIsMuted({ participant: person, source });
  return (
    <span className={off ? "source-off" : "source-on"}>
      <Icon name={off ? `${source}-off` : source} size={18} />
      <span className="unseen">{`${source} ${off ? "off" : "on"}`}</span>
    </span>
  );
}
