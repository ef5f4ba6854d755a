import type { Api } from "./api";
import { TableScroll } from "./TableScroll";
import { Trouble } from "./Trouble";
import { usePoll } from "./usePoll";
import type { PlacesOverview } from "./views";

const INTERVAL = 5000;

/** The places where the entries of the data plane run. */
export function PlacesView({ api }: { api: Api }) {
  const { data, error } = usePoll<PlacesOverview>(api, "/api/places", INTERVAL);
  return (
    <section aria-labelledby="places">
      <h1 id="places">Data plane</h1>
      <p className="quiet">
        The table entries of this server by the place where they run: the base is the program itself, and an offload is
        the kernel, its rings, or a switch. The command weir inspect shows each of them.
      </p>
      <Trouble error={error} />
      {data && (
        <>
          <Rows
            caption="Entries"
            heads={["Table", "Place", "Entries"]}
            none="All entries run in the program itself, because this server has no offload."
            rows={data.entries.map(({ table, place, count }) => [table, place, count.toLocaleString("en")])}
          />
          <Rows
            caption="Parts"
            heads={["Part", "State"]}
            none="There are no parts."
            rows={data.parts.map(({ name, state }) => [name, state])}
          />
        </>
      )}
    </section>
  );
}

interface Properties {
  caption: string;
  heads: string[];
  rows: string[][];
  /** The sentence in place of rows. */
  none: string;
}

function Rows({ caption, heads, rows, none }: Properties) {
  return (
    <TableScroll label={`Table of ${caption.toLowerCase()}`}>
      <table className="admin-table">
        <caption>{caption}</caption>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.join("\n")}>
              {row.map((cell, index) => (
                <td key={heads[index]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p className="quiet">{none}</p>}
    </TableScroll>
  );
}
