import type { Api } from "./api";
import { People } from "./People";

/** The people of all rooms. */
export function PeopleView({ api }: { api: Api }) {
  return (
    <section aria-labelledby="people">
      <h1 id="people">People</h1>
      <People api={api} />
    </section>
  );
}
