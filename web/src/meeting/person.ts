import type { Participant } from "livekit-client";

/** What a person is called. Clients other than this page may come without a name, and then go by their identity. */
export function nameOf(person: Participant): string {
  return person.name || person.identity || "Somebody";
}
