import { Empty, Failure, Loading } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead } from "../parts/query";
import { duration, Json } from "../parts/text";

interface JobType {
  name: string;
  version: number;
  pool: string;
  payload_schema: unknown;
  settings: Record<string, unknown>;
  retries: Record<string, number[]>; // by class of failure: seconds after which each attempt is expected to start
}

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
              pool {type.pool} · payload version {type.version}
            </p>
            <Retries retries={type.retries} />
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

// When the attempts would start if each failed at once: on one logarithmic scale, so that classes can be compared.
function Retries({ retries }: { retries: Record<string, number[]> }) {
  const classes = Object.entries(retries).filter(([, starts]) => starts.length > 1);
  const end = Math.max(1, ...classes.flatMap(([, starts]) => starts));
  const place = (seconds: number) => 1 + (98 * Math.log1p(seconds)) / Math.log1p(end);
  if (classes.length === 0) return <p class="faint">It is tried once.</p>;
  return (
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
            {starts.length} in {duration(starts[starts.length - 1] ?? 0)}
          </span>
        </li>
      ))}
    </ol>
  );
}
