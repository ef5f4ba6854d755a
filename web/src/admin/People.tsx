import { useState } from "react";
import { hashOf } from "./address";
import type { Api } from "./api";
import { Name } from "./Name";
import { PAGE_LEN, Pager } from "./Pager";
import { SearchField } from "./SearchField";
import { TableScroll } from "./TableScroll";
import { Trouble } from "./Trouble";
import { usePoll } from "./usePoll";
import type { ParticipantPage, ParticipantSummary } from "./views";
import { duration, spaced } from "./words";

const INTERVAL = 3000;

interface Properties {
  api: Api;
  /** The room; `undefined` for all that the token gives access to. */
  room?: string;
}

/** People in one room or in all, in pages, with a search by identity and name. */
export function People({ api, room }: Properties) {
  const [search, setSearch] = useState("");
  const [offset, setOffset] = useState(0);
  const query = new URLSearchParams({ search, offset: `${offset}`, limit: `${PAGE_LEN}` });
  if (room !== undefined) query.set("room", room);
  const { data, error } = usePoll<ParticipantPage>(api, `/api/participants?${query}`, INTERVAL);
  return (
    <>
      <SearchField
        label="Search people by identity or name"
        onSearch={(text) => {
          setSearch(text);
          setOffset(0);
        }}
      />
      <Trouble error={error} />
      {data && (
        <>
          <TableScroll label="Table of people">
            <table className="admin-table">
              <thead>
                <tr>
                  <th scope="col">Identity</th>
                  <th scope="col">Name</th>
                  {room === undefined && <th scope="col">Room</th>}
                  <th scope="col">In the room</th>
                  <th scope="col">Sends</th>
                </tr>
              </thead>
              <tbody>
                {data.participants.map((person) => (
                  <tr key={JSON.stringify([person.room, person.identity])}>
                    <td>
                      <a href={hashOf({ at: "participant", room: person.room, identity: person.identity })}>
                        <Name>{person.identity}</Name>
                      </a>
                    </td>
                    <td>
                      <Name>{person.name}</Name>
                    </td>
                    {room === undefined && (
                      <td>
                        <a href={hashOf({ at: "room", room: person.room })}>
                          <Name>{person.room}</Name>
                        </a>
                      </td>
                    )}
                    <td>{duration(Date.now() - person.joined_at_ms)}</td>
                    <td>{sent(person)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableScroll>
          <Pager noun="person" plural="people" offset={offset} total={data.total} onOffset={setOffset} />
        </>
      )}
    </>
  );
}

function sent({ is_connected, tracks }: ParticipantSummary): string {
  if (!is_connected) return "media is not connected";
  const words = tracks.map(({ source, is_muted }) => `${spaced(source)}${is_muted ? " (muted)" : ""}`);
  return words.join(", ") || "nothing";
}
