import { useState } from "preact/hooks";
import { named } from "../api";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead } from "../parts/query";
import { Histogram } from "../parts/histogram";
import { duration, Json, When } from "../parts/text";
import type { TypeDocument as JobType, TypeEventDocument as TypeEvent } from "../types";

export function Types() {
  const found = useRead<{ types: JobType[] }>("/v1/types");
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading />;
  return (
    <>
      <h1>Types</h1>
      {found.data.types.length === 0 && <Empty>No types yet: they are registered when a worker starts.</Empty>}
      <ul class="cards">
        {found.data.types.map((type) => (
          <li key={type.name} class="card">
            <h2>
              <Link to={`/jobs?${new URLSearchParams({ type: type.name }).toString()}`}>{type.name}</Link>
            </h2>
            <p class="faint">
              pool {type.pool}
              {type.place !== type.pool && <strong>, new jobs go to {type.place}</strong>} · payload version {type.version}
            </p>
            {type.runs && type.histogram ? (
              <Histogram runs={type.runs} bars={type.histogram} />
            ) : (
              <p class="faint">No runs were measured in the last day.</p>
            )}
            <h3>Attempts</h3>
            <p class="faint">
              {type.timeout === null ? "A run is never stopped." : `A run is stopped after ${duration(type.timeout)}.`}
              {type.settings.usual_retry === true && ` How often it is tried is up to the pool ${type.place}.`}
            </p>
            <Retries retries={startsOf(type)} />
            <History name={type.name} />
            <details>
              <summary>Payload schema and settings</summary>
              <Json value={type.payload_schema} label="Payload schema" />
              <Json value={type.settings} label="Settings" />
            </details>
          </li>
        ))}
      </ul>
    </>
  );
}

// What was done to a type is read when somebody wants to know.
function History({ name }: { name: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>History: pools and pauses</summary>
      {open && <Events name={name} />}
    </details>
  );
}

function Events({ name }: { name: string }) {
  const found = useRead<{ events: TypeEvent[] | null }>(named("/v1/types", name));
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading />;
  if (!found.data.events) return <p class="faint">It concerns all tenants, and your key is bound to one.</p>;
  if (found.data.events.length === 0) return <p class="faint">It was never moved, paused or quarantined.</p>;
  return (
    <ol class="timeline">
      {found.data.events.map((event, at) => (
        <li key={at}>
          <strong>{event.new === null ? event.what : `${event.what} from ${event.old} to ${event.new}`}</strong>{" "}
          <span class="faint">
            <When at={event.at} /> by {event.by}
            {event.why && `: ${event.why}`}
          </span>
        </li>
      ))}
    </ol>
  );
}

// By class of failure: seconds after which each attempt is expected to start.
function startsOf(type: JobType): Record<string, number[]> {
  return Object.fromEntries(Object.entries(type.retries).map(([failure, retry]) => [failure, retry.attempts.map((step) => step.expected)]));
}

function last(starts: number[]): number {
  return starts[starts.length - 1] ?? 0;
}

// When the attempts would start if each failed at once: on one logarithmic scale, so that classes can be compared.
function Retries({ retries }: { retries: Record<string, number[]> }) {
  const classes = Object.entries(retries).filter(([, starts]) => starts.length > 1);
  const end = Math.max(1, ...classes.flatMap(([, starts]) => starts));
  const place = (seconds: number) => 1 + (98 * Math.log1p(seconds)) / Math.log1p(end);
  if (classes.length === 0) return <p class="faint">It is tried once.</p>;
  return (
    <>
      <p class="faint">When its tries would begin if all failed at once, by class of failure:</p>
      <ol class="runs" aria-label="Attempts and the time until the last of them starts, if each failed at once">
        {classes.map(([failure, starts]) => (
          <li key={failure}>
            <span>{failure}</span>
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              {starts.map((start, at) => (
                <rect key={at} class="bar-due" x={place(start) - 0.6} y={2} width={1.2} height={6} />
              ))}
            </svg>
            <span class="note faint">
              {starts.length}
              {last(starts) > 0 ? ` within ${duration(last(starts))}` : ", at once"}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}
