import { useMemo } from "react";
import type { Timeline, TimelineEntry } from "../../operator";
import type { Api } from "../api";
import { Name } from "../Name";
import { TableScroll } from "../TableScroll";
import { Trouble } from "../Trouble";
import { usePoll } from "../usePoll";
import { clock, counted, layer, spaced } from "../words";
import { Chart, type Line } from "./Chart";
import { chartsOf } from "./series";

const INTERVAL = 5000;

/** The rows of the newest events. */
const EVENTS_MAX = 50;

const RATES: Line[] = [
  { words: "Estimate", color: "--line-1" },
  { words: "Allocated", color: "--line-2" },
  { words: "Wanted", color: "--line-3" },
];
const LOSSES: Line[] = [
  { words: "To the participant", color: "--line-1" },
  { words: "From the participant", color: "--line-2" },
];
const DELAYS: Line[] = [
  { words: "Queue", color: "--line-1" },
  { words: "Round trip", color: "--line-2" },
];

/** The timeline of a participant: charts, and the newest events. */
export function TimelinePart({ api, path }: { api: Api; path: string }) {
  const { data, error } = usePoll<Timeline>(api, path, INTERVAL);
  const charts = useMemo(() => data && chartsOf(data), [data]);
  const events = useMemo(() => data?.entries.filter(isEvent).slice(-EVENTS_MAX).reverse(), [data]);
  return (
    <section aria-labelledby="timeline" className="admin-card">
      <h2 id="timeline">Timeline</h2>
      <Trouble error={error} />
      {data && data.overwritten > 0 && (
        <p className="quiet">{counted(data.overwritten, "older observation")} made room for newer ones.</p>
      )}
      {charts && charts.rates[0].length === 0 && <p className="quiet">There is no estimate of the downlink yet.</p>}
      {charts && charts.rates[0].length > 0 && (
        <>
          <p className="quiet">Dashed marks are switches of layers, solid ones are pauses.</p>
          <Chart
            title="Rates to the participant"
            unit="Mbit/s"
            lines={RATES}
            data={charts.rates}
            marks={charts.marks}
          />
          <Chart title="Loss" unit="%" lines={LOSSES} data={charts.losses} marks={charts.marks} />
          <Chart title="Delay" unit="ms" lines={DELAYS} data={charts.delays} marks={charts.marks} />
        </>
      )}
      {events && events.length > 0 && (
        <TableScroll label="Table of events">
          <table className="admin-table">
            <caption>Newest events</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Event</th>
                <th scope="col">Track</th>
              </tr>
            </thead>
            <tbody>
              {events.map((entry, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: entries have no other identity
                <tr key={`${entry.at_ms} ${index}`}>
                  <td>{clock(entry.at_ms)}</td>
                  <td>
                    <Name>{described(entry)}</Name>
                  </td>
                  <td>
                    {entry.track && (
                      <>
                        {spaced(entry.track.source)} of <Name>{entry.track.peer}</Name>
                      </>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </section>
  );
}

/** Whether it is in the table: charts show the others. */
function isEvent({ observation }: TimelineEntry): boolean {
  return observation !== "estimate" && observation !== "loss" && observation !== "probe";
}

function described(entry: TimelineEntry): string {
  switch (entry.observation) {
    case "layer_switch":
      return `switch from ${layer(entry.from)} to ${layer(entry.to)}, by ${entry.cause}`;
    case "pause":
      return entry.paused ? "paused" : "resumed after a pause";
    case "mute":
      return entry.muted ? "muted" : "unmuted";
    case "leave":
      return `left: ${spaced(entry.reason)}`;
    case "transport":
      return `${entry.direction} ${spaced(entry.state)}`;
    case "path":
      return `path to ${entry.remote} over ${entry.protocol.toUpperCase()}`;
    case "permission":
      return `permission: ${grants(entry.publish, entry.subscribe, entry.data)}`;
    case "key_frame_query":
      return `key frame asked for, attempt ${entry.attempt}`;
    default:
      return spaced(entry.observation);
  }
}

function grants(publish: boolean, subscribe: boolean, data: boolean): string {
  const words = [publish && "publish", subscribe && "subscribe", data && "data"].filter(Boolean);
  return words.join(", ") || "none";
}
