import { named, send } from "../api";
import { ActionButton, Empty, Failure, Loading, textOf } from "../parts/feedback";
import { useRead, useRefresh } from "../parts/query";
import { count, duration, plural, shortId, StateBadge, Usage, When } from "../parts/text";
import { Pauses } from "./pauses";
import { PoolTable } from "./pools";

interface Worker {
  id: string;
  host: string;
  pid: number;
  pools: string[];
  types: string[];
  slots: number;
  version: string;
  started_at: string;
  state: string;
  live: boolean;
  lease_left: number;
  report: Record<string, number>;
}

export function Workers({ operates }: { operates: boolean }) {
  return (
    <>
      <h1>Workers, pools and pauses</h1>
      <WorkerList operates={operates} />
      <PoolTable operates={operates} />
      <Pauses operates={operates} />
    </>
  );
}

function WorkerList({ operates }: { operates: boolean }) {
  const found = useRead<{ workers: Worker[] }>("/v1/workers", {}, 2_000);
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading />;
  const { workers } = found.data;
  if (workers.length === 0) return <Empty>{"No workers: nothing runs until one is started with `fairlead worker MODULE:APP`."}</Empty>;
  return (
    <>
      <Summary workers={workers} />
      <div class="scroll" tabIndex={0} role="region" aria-label="Workers">
        <table>
          <thead>
            <tr>
              <th>Worker</th>
              <th>State</th>
              <th>Host</th>
              <th>Pools</th>
              <th>Slots in use</th>
              <th class="number">Done</th>
              <th class="number">Failed</th>
              <th>Started</th>
              <th>Heartbeat</th>
              <th>Version</th>
              <th>
                <span class="faint">Action</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {workers.map((worker) => (
              <Row key={worker.id} worker={worker} operates={operates} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

// Slots over all, and what is odd: workers that are lost, and more than one version.
function Summary({ workers }: { workers: Worker[] }) {
  const live = workers.filter((worker) => worker.live);
  const sum = (of: (worker: Worker) => number) => live.reduce((total, worker) => total + of(worker), 0);
  const versions = [...new Set(live.map((worker) => worker.version))].sort();
  const lost = workers.length - live.length;
  return (
    <div class="panel">
      <p>
        {plural(live.length, "worker")} on {plural(new Set(live.map((worker) => worker.host)).size, "host")}
        {versions.length > 1 && <strong class="warn"> · {versions.length} versions: {versions.join(", ")}</strong>}
        {lost > 0 && <strong class="bad"> · {plural(lost, "worker")} lost: their jobs are taken over</strong>}
      </p>
      <Usage used={sum((worker) => worker.report["running"] ?? 0)} of={sum((worker) => worker.slots)} />
    </div>
  );
}

function Row({ worker, operates }: { worker: Worker; operates: boolean }) {
  const refresh = useRefresh();
  const running = worker.report["running"] ?? 0;
  const failed = (worker.report["retrying"] ?? 0) + (worker.report["dead"] ?? 0);
  const direct = (what: string) => (reason: string) => send("POST", `${named("/v1/workers", worker.id)}/${what}`, { reason: textOf(reason) });
  const name = `${worker.host}:${worker.pid}`;
  return (
    <tr>
      <td class="mono">{shortId(worker.id)}</td>
      <td>
        <StateBadge state={worker.live ? worker.state : "lost"} />
      </td>
      <td class="cut">{name}</td>
      <td>{worker.pools.join(", ")}</td>
      <td>
        <Usage used={running} of={worker.slots} />
      </td>
      <td class="number">{count(worker.report["succeeded"] ?? 0)}</td>
      <td class="number">{count(failed)}</td>
      <td>
        <When at={worker.started_at} />
      </td>
      <td title="A heartbeat renews the lease; when it is over, others take its jobs.">
        {worker.live ? `good for ${duration(worker.lease_left)}` : "missing"}
      </td>
      <td>{worker.version}</td>
      <td class="row-actions">
        {operates && worker.live && worker.state === "active" && (
          <ActionButton
            question={{
              title: `Drain ${name}`,
              what: `It claims nothing more, finishes the ${plural(running, "job")} that ${running === 1 ? "runs" : "run"} there, and ends.`,
              label: "Drain",
              danger: true,
              run: direct("drain"),
              done: refresh,
            }}
          />
        )}
        {operates && worker.live && (
          <ActionButton
            question={{
              title: `Stop ${name}`,
              what: `It gives back the ${plural(running, "job")} that ${running === 1 ? "runs" : "run"} there, without burning attempts, and ends. Others run them again.`,
              label: "Stop",
              danger: true,
              run: direct("stop"),
              done: refresh,
            }}
          />
        )}
      </td>
    </tr>
  );
}
