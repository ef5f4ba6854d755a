/** How a meeting ended for this person, in words they can use. */
export interface Ending {
  title: string;
  detail: string;
  /** "calm" is an intended ending, "problem" is not. */
  tone: "calm" | "problem";
  /** Label of the button that goes back; `undefined` if going back makes no sense. */
  again: string | undefined;
}
