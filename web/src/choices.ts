/**
 * A person's choices in the lobby. The browser stores them, so that the next meeting starts with
 * them.
 */
export interface Choices {
  name: string;
  camera: boolean;
  microphone: boolean;
  /** A device id, or "" for the browser's default. */
  cameraId: string;
  microphoneId: string;
}

const KEY = "weir.choices";
const FRESH: Choices = { name: "", camera: true, microphone: true, cameraId: "", microphoneId: "" };

export function loadChoices(): Choices {
  try {
    return { ...FRESH, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Choices>) };
  } catch {
    // Storage can be switched off or hold something else's data; neither should keep anyone out of
    // a meeting.
    return FRESH;
  }
}

export function saveChoices(choices: Choices): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(choices));
  } catch {
    // Not remembered, then.
  }
}
