import type { Api } from "./api";
import { Name } from "./Name";
import { TableScroll } from "./TableScroll";
import { Trouble } from "./Trouble";
import { usePoll } from "./usePoll";
import type { AuditEntry, AuditLog } from "./views";
import { moment } from "./words";

const INTERVAL = 5000;

const ACTIONS: Record<AuditEntry["action"], string> = {
  close_room: "closed the room",
  remove_participant: "removed",
  mute: "muted a track of",
  unmute: "unmuted a track of",
};

/** The newest actions of administrators. */
export function AuditView({ api }: { api: Api }) {
  const { data, error } = usePoll<AuditLog>(api, "/api/audit", INTERVAL);
  return (
    <section aria-labelledby="audit">
      <h1 id="audit">Actions of administrators</h1>
      <p className="quiet">The newest 1,000 since this server started. The server's log has each of them, too.</p>
      <Trouble error={error} />
      {data && data.entries.length === 0 && <p role="status">There are no actions yet.</p>}
      {data && data.entries.length > 0 && (
        <TableScroll label="Table of actions">
          <table className="admin-table">
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">By</th>
                <th scope="col">Key</th>
                <th scope="col">Action</th>
                <th scope="col">Room</th>
                <th scope="col">Result</th>
              </tr>
            </thead>
            <tbody>
              {data.entries.map((entry, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: entries have no other identity
                <tr key={`${entry.at_ms} ${index}`}>
                  <td>{moment(entry.at_ms)}</td>
                  <td>
                    <Name>{entry.identity}</Name>
                  </td>
                  <td>
                    <Name>{entry.api_key}</Name>
                  </td>
                  <td>
                    {ACTIONS[entry.action]} {entry.participant !== null && <Name>{entry.participant}</Name>}
                  </td>
                  <td>
                    <Name>{entry.room}</Name>
                  </td>
                  <td>{entry.error ?? "done"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </section>
  );
}
