import { useEffect, useState } from "preact/hooks";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Link } from "../parts/link";
import { inOrder } from "../parts/pools";
import { Chart } from "../parts/chart";
import { at } from "../api";
import { useRead } from "../parts/query";
import { Topics, type Topic } from "../parts/topics";
import { count, duration, Usage } from "../parts/text";
import type { MinuteDocument as Minute, PoolStatsDocument as Pool, SpreadDocument as Spread, StatusDocument, WaitTimes as Waits } from "../types";

interface Sample {
  at: number;
  pools: Record<string, { ready: number; running: number; retrying: number; oldest: number | null }>;
  ended: Record<string, number>; // jobs that ended since the sample before, by state
  seconds: number;
}

type Status = Omit<StatusDocument, "sample" | "health"> & { sample: Sample | null; health: Omit<StatusDocument["health"], "topics"> & { topics: Topic[] } };

const HOUR = 3600;
const PERCENTILES = [["p50", "good"], ["p95", "warn"], ["p99", "bad"]] as const;
const ENDED = [["succeeded", "good"], ["retrying", "warn"], ["dead", "bad"]] as const;

export function Overview() {
  const [status, setStatus] = useState<Status | null>(null);
  const [lost, setLost] = useState(false);
  const history = useRead<{ samples: Sample[] }>("/v1/status/history");
  const [newer, setNewer] = useState<Sample[]>([]);
  const waited = useRead<Waits>("/v1/status/waits");
  const [minutes, setMinutes] = useState<Minute[]>([]);
  useEffect(() => {
    const events = new EventSource(at("/v1/status/stream"));
    events.addEventListener("status", (event) => {
      const found = JSON.parse(event.data as string) as Status;
      setLost(false);
      setStatus(found);
      setMinutes((before) => merged(before, found.waits.minutes));
      if (found.sample) setNewer((before) => joined(before, found.sample as Sample));
    });
    events.addEventListener("error", () => setLost(true));
    return () => events.close();
  }, []);
  const failure = history.error ?? waited.error;
  if (failure) return <Failure error={failure} />;
  if (!status) return <Loading />;
  const samples = [...(history.data?.samples ?? [])];
  for (const sample of newer) if (sample.at > (samples[samples.length - 1]?.at ?? 0)) samples.push(sample);
  return (
    <>
      <h1>Overview</h1>
      {lost && <p class="failure">The connection was lost; trying again.</p>}
      <section class={`health health-${status.health.level}`} aria-live="polite">
        <span class="dot" />
        <div>
          <p class="sentence">{status.health.sentence}</p>
          {status.health.hints.length > 0 && (
            <ul>
              {status.health.hints.map((hint) => (
                <li key={hint}>{hint}</li>
              ))}
            </ul>
          )}
          <Topics topics={status.health.topics} />
        </div>
      </section>
      <Waiting waits={status.waits} />
      <Pools pools={status.pools} waits={status.waits.pools} />
      <Charts samples={samples} minutes={merged(waited.data?.minutes ?? [], minutes)} />
    </>
  );
}

function joined(before: Sample[], sample: Sample): Sample[] {
  if ((before[before.length - 1]?.at ?? 0) >= sample.at) return before;
  return [...before, sample].filter((one) => one.at > sample.at - HOUR);
}

// Minutes of both, the newer figures where both have one.
function merged(before: Minute[], newer: Minute[]): Minute[] {
  const found = new Map([...before, ...newer].map((minute) => [minute.at, minute]));
  const last = Math.max(...found.keys());
  return [...found.values()].filter((minute) => minute.at > last - HOUR).sort((one, other) => one.at - other.at);
}

function Waiting({ waits }: { waits: Waits }) {
  return (
    <section class="panel" aria-label="Waits until the start">
      <h2>Waits until the start, last {Math.round(waits.seconds / 60)} minutes</h2>
      <dl class="facts big">
        {PERCENTILES.map(([name]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd data-wait={name}>{waits.all ? duration(waits.all[name]) : "–"}</dd>
          </div>
        ))}
        <div>
          <dt>started</dt>
          <dd data-wait="count">{count(waits.all?.count ?? 0)}</dd>
        </div>
      </dl>
    </section>
  );
}

function Pools({ pools, waits }: { pools: Pool[]; waits: Record<string, Spread> }) {
  if (pools.length === 0) return <Empty>{"No jobs and no workers yet: start a worker with `fairlead worker MODULE:APP`, then submit a job."}</Empty>;
  return (
    <ul class="cards">
      {inOrder(pools.map((pool) => pool.pool)).flatMap((name) => pools.filter((pool) => pool.pool === name)).map((pool) => (
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
          <p class="faint">{waitsOf(waits[pool.pool])}</p>
          <Usage used={pool.running} of={pool.slots} />
        </li>
      ))}
    </ul>
  );
}

function waitsOf(found: Spread | undefined): string {
  if (!found) return "nothing was started lately";
  return `waits p50 ${duration(found.p50)} · p95 ${duration(found.p95)} · p99 ${duration(found.p99)}`;
}

function Charts({ samples, minutes }: { samples: Sample[]; minutes: Minute[] }) {
  if (samples.length < 2) return <p class="faint">The history begins with the first samples, one every few seconds.</p>;
  const times = samples.map((sample) => sample.at);
  const pools = inOrder(samples.flatMap((sample) => Object.keys(sample.pools)));
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
      {minutes.length > 1 && (
        <Chart
          title="Waits until the start, seconds"
          times={minutes.map((minute) => minute.at)}
          lines={PERCENTILES.map(([name, colour]) => ({ label: name, colour, values: minutes.map((one) => one[name]) }))}
          least={0.01}
        />
      )}
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
