import type { Api } from "../api";
import { Name } from "../Name";
import { Trouble } from "../Trouble";
import { usePoll } from "../usePoll";
import { clock } from "../words";

const INTERVAL = 5000;

/** The fields of a verdict that are shown; docs/operate/timelines.md has all of them. */
interface Verdict {
  summary: string;
  findings: { from_ms: number; to_ms: number; severity: "fault" | "info"; cause: string; text: string }[];
}

/** The faults of a call, in sentences. */
export function VerdictPart({ api, path }: { api: Api; path: string }) {
  const { data, error } = usePoll<Verdict>(api, path, INTERVAL);
  return (
    <section aria-labelledby="verdict" className="admin-card">
      <h2 id="verdict">Verdict</h2>
      <Trouble error={error} />
      {data && (
        <p className="admin-summary">
          <Name>{data.summary}</Name>
        </p>
      )}
      {data && data.findings.length > 0 && (
        <ol className="admin-findings">
          {data.findings.map(({ from_ms, to_ms, severity, cause, text }) => (
            <li key={`${from_ms} ${to_ms} ${cause} ${text}`} className={severity}>
              <span className="admin-badge">{severity === "fault" ? "Fault" : "Note"}</span>
              <time>
                {clock(from_ms)} to {clock(to_ms)}
              </time>
              <Name>{text}</Name>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
