import { useState } from "react";
import { hashOf } from "./address";
import type { Api } from "./api";
import { Name } from "./Name";
import { PAGE_LEN, Pager } from "./Pager";
import { SearchField } from "./SearchField";
import { TableScroll } from "./TableScroll";
import { Trouble } from "./Trouble";
import { usePoll } from "./usePoll";
import type { RoomOrder, RoomPage } from "./views";
import { duration } from "./words";

const INTERVAL = 3000;

const COLUMNS: { order: RoomOrder; words: string; direction: "ascending" | "descending" }[] = [
  { order: "name", words: "Room", direction: "ascending" },
  { order: "participants", words: "People", direction: "descending" },
  { order: "created", words: "Age", direction: "descending" },
];

/** All rooms, in pages. */
export function RoomsView({ api }: { api: Api }) {
  const [order, setOrder] = useState<RoomOrder>("participants");
  const [search, setSearch] = useState("");
  const [offset, setOffset] = useState(0);
  const query = new URLSearchParams({ order, search, offset: `${offset}`, limit: `${PAGE_LEN}` });
  const { data, error } = usePoll<RoomPage>(api, `/api/rooms?${query}`, INTERVAL);
  return (
    <section aria-labelledby="rooms">
      <h1 id="rooms">Rooms</h1>
      <SearchField
        label="Search rooms by name"
        onSearch={(text) => {
          setSearch(text);
          setOffset(0);
        }}
      />
      <Trouble error={error} />
      {data && (
        <>
          <TableScroll label="Table of rooms">
            <table className="admin-table">
              <thead>
                <tr>
                  {COLUMNS.map((column) => (
                    <th
                      key={column.order}
                      scope="col"
                      aria-sort={order === column.order ? column.direction : undefined}
                    >
                      <button
                        type="button"
                        aria-label={`Sort by ${column.words.toLowerCase()}`}
                        onClick={() => {
                          setOrder(column.order);
                          setOffset(0);
                        }}
                      >
                        {column.words}
                        <span aria-hidden="true">{order === column.order ? " ▾" : ""}</span>
                      </button>
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {data.rooms.map((room) => (
                  <tr key={room.name}>
                    <td>
                      <a href={hashOf({ at: "room", room: room.name })}>
                        <Name>{room.name}</Name>
                      </a>
                    </td>
                    <td>{room.participants}</td>
                    <td>{duration(Date.now() - room.created_at_ms)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableScroll>
          <Pager noun="room" plural="rooms" offset={offset} total={data.total} onOffset={setOffset} />
        </>
      )}
    </section>
  );
}
