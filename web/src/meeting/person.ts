import type { Participant } from "livekit-client";

/**
 * A participant's name. Other clients may join without a name; they are called by their
 * identity.
 */
export function nameOf(person: Participant): string {
  return person.name || person.identity || "Somebody";
}
