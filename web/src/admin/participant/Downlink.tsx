import type { Downlink as DownlinkState, Receivers, Subscription } from "../../operator";
import type { Api } from "../api";
import { Name } from "../Name";
import { TableScroll } from "../TableScroll";
import { Trouble } from "../Trouble";
import { usePoll } from "../usePoll";
import { layer, rate, spaced } from "../words";

const INTERVAL = 2000;

/** The downlink of a participant: its estimate, and each track with its layers. */
export function Downlink({ api, room, identity }: { api: Api; room: string; identity: string }) {
  const query = new URLSearchParams({ room, identity });
  const { data, error } = usePoll<Receivers>(api, `/api/receivers?${query}`, INTERVAL);
  const receiver = data?.receivers[0];
  return (
    <section aria-labelledby="receives" className="admin-card">
      <h2 id="receives">Receives</h2>
      <Trouble error={error} />
      {receiver && !receiver.downlink && (
        <p className="quiet">The downlink is not measured: nothing but sound is sent, or no reports arrive.</p>
      )}
      {receiver?.downlink && <Figures downlink={receiver.downlink} />}
      {receiver && receiver.subscriptions.length === 0 && <p className="quiet">Nothing is subscribed.</p>}
      {receiver && receiver.subscriptions.length > 0 && (
        <TableScroll label="Table of received tracks">
          <table className="admin-table">
            <thead>
              <tr>
                <th scope="col">From</th>
                <th scope="col">Source</th>
                <th scope="col">State</th>
                <th scope="col">Wanted</th>
                <th scope="col">Granted</th>
                <th scope="col">Current</th>
              </tr>
            </thead>
            <tbody>
              {receiver.subscriptions.map((subscription) => (
                <tr key={subscription.track}>
                  <td>
                    <Name>{subscription.publisher}</Name>
                  </td>
                  <td>{spaced(subscription.source)}</td>
                  <td>{stateOf(subscription)}</td>
                  <td>{wanted(subscription)}</td>
                  <td>{subscription.kind === "video" ? layer(subscription.granted) : ""}</td>
                  <td>{subscription.kind === "video" ? layer(subscription.current) : ""}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </section>
  );
}

function Figures({ downlink }: { downlink: DownlinkState }) {
  const figures = [
    ["Estimate", rate(downlink.target_bps)],
    ["Allocated", rate(downlink.allocated_bps)],
    ["Wanted", rate(downlink.wanted_bps)],
    ["Limited by", spaced(downlink.limit)],
    ["Loss", `${(downlink.loss * 100).toFixed(1)} %`],
    ["Round trip", downlink.round_trip_ms === null ? "not known" : `${downlink.round_trip_ms.toFixed(1)} ms`],
    ["Queue", `${downlink.queue_ms.toFixed(1)} ms`],
  ];
  return (
    <dl className="admin-figures">
      {figures.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function stateOf({ state, awaits_key_frame }: Subscription): string {
  return awaits_key_frame ? `${spaced(state)}, waits for a key frame` : spaced(state);
}

function wanted({ kind, wanted: { width, height, fps, encoding_max, spatial_max } }: Subscription): string {
  if (kind === "audio") return "";
  const limits = [];
  if (width !== null && height !== null) limits.push(`${width} × ${height}`);
  if (fps !== null) limits.push(`${fps} frames/s`);
  if (encoding_max !== null) limits.push(`encoding up to ${encoding_max}`);
  if (spatial_max !== null) limits.push(`spatial layer up to ${spatial_max}`);
  return limits.join(", ") || "the best";
}
