import { RoomAudioRenderer, RoomContext } from "@livekit/components-react";
import type { Pass } from "../access";
import type { Choices } from "../choices";
import type { Ending } from "../ending";
import { Splash } from "../ui/Splash";
import { Notices, useNotices } from "./Notices";
import { ServerPollContext, useServerPoll } from "./quality/ServerPollContext";
import { RoomScreen } from "./RoomScreen";
import { useMeeting } from "./useMeeting";
import "../styles/meeting.css";
import "../styles/tiles.css";
import "../styles/panels.css";
import "../styles/quality.css";

interface MeetingProps {
  room: string;
  pass: Pass;
  choices: Choices;
  onEnd: (ending: Ending) => void;
}

/** A stay in a room, from the first connection to its end. */
export function Meeting({ room: roomName, pass, choices, onEnd }: MeetingProps) {
  const { notices, notify } = useNotices();
  const room = useMeeting(pass, choices, { onEnd, onTrouble: notify });
  const server = useServerPoll(room, pass);
  if (!room) return <Splash words="Joining the meeting" />;
  return (
    <RoomContext.Provider value={room}>
      <ServerPollContext.Provider value={server}>
        <RoomScreen roomName={roomName} onNotice={notify} />
      </ServerPollContext.Provider>
      <RoomAudioRenderer />
      <Notices notices={notices} />
    </RoomContext.Provider>
  );
}
