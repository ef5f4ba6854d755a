import { escaped } from "./words";

/** A name that somebody else chose: as text, apart from the direction of the text around it. */
export function Name({ children }: { children: string }) {
  return <bdi className="admin-name">{escaped(children)}</bdi>;
}
