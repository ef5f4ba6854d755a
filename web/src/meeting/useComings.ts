import { useRoomContext } from "@livekit/components-react";
import { type RemoteParticipant, RoomEvent } from "livekit-client";
import { useEffect } from "react";
import { nameOf } from "./person";

/** Announces joins and departures. People who were there first are not announced. */
export function useComings(onNotice: (words: string) => void): void {
  const room = useRoomContext();
  useEffect(() => {
    const came = (person: RemoteParticipant) => onNotice(`${nameOf(person)} joined`);
    const went = (person: RemoteParticipant) => onNotice(`${nameOf(person)} left`);
    room.on(RoomEvent.ParticipantConnected, came).on(RoomEvent.ParticipantDisconnected, went);
    return () => {
      room.off(RoomEvent.ParticipantConnected, came).off(RoomEvent.ParticipantDisconnected, went);
    };
  }, [room, onNotice]);
}
