import { useEffect, useState } from "preact/hooks";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Link } from "../parts/link";
import { Chart } from "../parts/chart";
import { useRead } from "../parts/query";
import { Topics, type Topic } from "../parts/topics";
import { count, duration, Usage } from "../parts/text";
import type { Pool } from "../types";

interface Sample {
  at: number;
  pools: Record<string, { ready: number; running: number; retrying: number; oldest: number | null }>;
  ended: Record<string, number>; // jobs that ended since the sample before, by state
  seconds: number;
}

interface Glance {
  health: { level: "ok" | "warning" | "problem"; sentence: string; hints: string[]; topics: Topic[] };
  pools: Pool[];
  sample: Sample | null;
}

const HOUR = 3600;
const ENDED = [["succeeded", "good"], ["retrying", "warn"], ["dead", "bad"]] as const;

export function Overview() {
  const [glance, setGlance] = useState<Glance | null>(null);
  const [lost, setLost] = useState(false);
  const history = useRead<{ samples: Sample[] }>("/v1/stats/history");
  const [newer, setNewer] = useState<Sample[]>([]);
  useEffect(() => {
    const events = new EventSource("/v1/stats/stream");
    events.addEventListener("glance", (event) => {
      const found = JSON.parse(event.data as string) as Glance;
      setLost(false);
      setGlance(found);
      if (found.sample) setNewer((before) => joined(before, found.sample as Sample));
    });
    events.addEventListener("error", () => setLost(true));
    return () => events.close();
  }, []);
  if (history.error) return <Failure error={history.error} />;
  if (!glance) return <Loading />;
  const samples = [...(history.data?.samples ?? [])];
  for (const sample of newer) if (sample.at > (samples[samples.length - 1]?.at ?? 0)) samples.push(sample);
  return (
    <>
      <h1>Overview</h1>
      {lost && <p class="failure">The connection was lost; trying again.</p>}
      <section class={`health health-${glance.health.level}`} aria-live="polite">
        <span class="dot" />
        <div>
          <p class="sentence">{glance.health.sentence}</p>
          {glance.health.hints.length > 0 && (
            <ul>
              {glance.health.hints.map((hint) => (
                <li key={hint}>{hint}</li>
              ))}
            </ul>
          )}
          <Topics topics={glance.health.topics} />
        </div>
      </section>
      <Pools pools={glance.pools} />
      <Charts samples={samples} />
    </>
  );
}

function joined(before: Sample[], sample: Sample): Sample[] {
  if ((before[before.length - 1]?.at ?? 0) >= sample.at) return before;
  return [...before, sample].filter((one) => one.at > sample.at - HOUR);
}

function Pools({ pools }: { pools: Pool[] }) {
  if (pools.length === 0) return <Empty>No jobs and no workers yet.</Empty>;
  return (
    <ul class="cards">
      {pools.map((pool) => (
        <li key={pool.pool} class="card">
          <h2>{pool.pool}</h2>
          <dl class="facts big">
            <div>
              <dt>oldest waits</dt>
              <dd>{pool.oldest_ready === null ? "–" : duration(pool.oldest_ready)}</dd>
            </div>
            {(["ready", "running", "retrying", "scheduled"] as const).map((state) => (
              <div key={state}>
                <dt>{state}</dt>
                <dd data-state={state}>
                  <Link to={`/jobs?${new URLSearchParams({ pool: pool.pool, state }).toString()}`}>
                    {count(pool.jobs[state] ?? 0)}
                  </Link>
                </dd>
              </div>
            ))}
          </dl>
          <Usage used={pool.running} of={pool.slots} />
        </li>
      ))}
    </ul>
  );
}

function Charts({ samples }: { samples: Sample[] }) {
  if (samples.length < 2) return <p class="faint">The history begins with the first samples, one every few seconds.</p>;
  const times = samples.map((sample) => sample.at);
  const pools = [...new Set(samples.flatMap((sample) => Object.keys(sample.pools)))].sort();
  const rate = (state: string) =>
    samples.map((sample) => (sample.seconds > 0 ? (sample.ended[state] ?? 0) / sample.seconds : null));
  return (
    <section class="charts" aria-label="The last hour">
      <Chart
        title="Ready jobs"
        times={times}
        lines={pools.map((pool) => ({ label: pool, values: samples.map((one) => one.pools[pool]?.ready ?? 0) }))}
      />
      <Chart
        title="Oldest ready job, seconds"
        times={times}
        lines={pools.map((pool) => ({ label: pool, values: samples.map((one) => one.pools[pool]?.oldest ?? 0) }))}
      />
      <Chart
        title="Ended, a second"
        times={times}
        lines={ENDED.map(([state, colour]) => ({ label: state, colour, values: rate(state) }))}
      />
      <Chart title="Runs that failed, percent" times={times} lines={[{ label: "failed", colour: "bad", values: failing(samples) }]} />
    </section>
  );
}

function failing(samples: Sample[]): (number | null)[] {
  return samples.map(({ ended }) => {
    const failed = (ended["retrying"] ?? 0) + (ended["dead"] ?? 0);
    const runs = failed + (ended["succeeded"] ?? 0);
    return runs > 0 ? Math.round((100 * failed) / runs) : null;
  });
}
