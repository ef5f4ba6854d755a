import { DisconnectReason, Room, RoomEvent, type RoomOptions } from "livekit-client";
import { useEffect, useState } from "react";
import type { Pass } from "../access";
import type { Choices } from "../choices";
import { type Device, deviceTrouble } from "../device";
import type { Ending } from "../ending";
import { connectionEnding, disconnectEnding } from "./endings";

interface MeetingHooks {
  onEnd: (ending: Ending) => void;
  onTrouble: (words: string) => void;
}

const ROOM_OPTIONS: RoomOptions = {
  // Request videos no larger than displayed, and send none that nobody watches.
  adaptiveStream: true,
  dynacast: true,
};

/**
 * One stay in a room: connects, opens what was switched on in the lobby, and reports the end
 * exactly once.
 *
 * `undefined` until the room is entered.
 */
export function useMeeting(pass: Pass, choices: Choices, hooks: MeetingHooks): Room | undefined {
  const [room, setRoom] = useState<Room>();
  const { onEnd, onTrouble } = hooks;

  useEffect(() => {
    const stay = new Room(optionsFor(choices));
    let here = true;
    const end = (ending: Ending) => {
      if (here) onEnd(ending);
      here = false;
    };
    stay.on(RoomEvent.Disconnected, (reason) => end(disconnectEnding(reason ?? DisconnectReason.UNKNOWN_REASON)));
    const begin = async () => {
      await stay.connect(pass.server, pass.token);
      if (!here) return;
      setRoom(stay);
      await openDevices(stay, choices, onTrouble);
    };
    begin().catch((error: unknown) => end(connectionEnding(error, pass.token)));
    return () => {
      here = false;
      void stay.disconnect();
    };
  }, [pass, choices, onEnd, onTrouble]);

  return room;
}

function optionsFor(choices: Choices): RoomOptions {
  return {
    ...ROOM_OPTIONS,
    videoCaptureDefaults: choices.cameraId ? { deviceId: choices.cameraId } : {},
    audioCaptureDefaults: choices.microphoneId ? { deviceId: choices.microphoneId } : {},
  };
}

/** Opens each device by itself: a refused camera must not cost anyone their microphone. */
async function openDevices(room: Room, choices: Choices, onTrouble: (words: string) => void): Promise<void> {
  const person = room.localParticipant;
  const opening: [Device, boolean, () => Promise<unknown>][] = [
    ["microphone", choices.microphone, () => person.setMicrophoneEnabled(true)],
    ["camera", choices.camera, () => person.setCameraEnabled(true)],
  ];
  await Promise.all(
    opening
      .filter(([, wanted]) => wanted)
      .map(([device, , open]) => open().catch((error: unknown) => onTrouble(deviceTrouble(device, error)))),
  );
}
