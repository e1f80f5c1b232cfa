import { useState } from "preact/hooks";
import { searchOf, send } from "../api";
import { ActionButton, Empty, Failure, Loading } from "../parts/feedback";
import { useRead, useRefresh } from "../parts/query";
import { count, duration, shortId, StateBadge, Usage, When } from "../parts/text";

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

interface PoolSettings {
  name: string;
  longest: number | null;
  concurrency: number | null;
  wait: number | null;
}

interface Pause {
  scope: string;
  name: string;
  reason: string;
  since: string;
}

export function Workers({ operates }: { operates: boolean }) {
  return (
    <>
      <h1>Workers, pauses and pools</h1>
      <WorkerList operates={operates} />
      <Pauses operates={operates} />
      <PoolTable />
    </>
  );
}

function PoolTable() {
  const found = useRead<{ pools: PoolSettings[]; moved: Record<string, { pool: string; why: string }> }>("/v1/pools");
  if (!found.data) return null;
  const limit = (value: number | null) => (value === null ? "–" : duration(value));
  return (
    <section>
      <h2>Pools</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Pools">
        <table>
          <thead>
            <tr>
              <th>Pool</th>
              <th>Jobs should run at most</th>
              <th>Should wait at most</th>
              <th class="number">Slots of a worker</th>
            </tr>
          </thead>
          <tbody>
            {found.data.pools.map((pool) => (
              <tr key={pool.name}>
                <td>{pool.name}</td>
                <td>{limit(pool.longest)}</td>
                <td>{limit(pool.wait)}</td>
                <td class="number">{pool.concurrency ?? "all"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {Object.entries(found.data.moved).map(([type, move]) => (
        <p key={type}>
          Jobs of <strong>{type}</strong> go to the pool <strong>{move.pool}</strong>: {move.why}
        </p>
      ))}
    </section>
  );
}

function WorkerList({ operates }: { operates: boolean }) {
  const found = useRead<{ workers: Worker[] }>("/v1/workers", {}, 2_000);
  const refresh = useRefresh();
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading />;
  if (found.data.workers.length === 0) return <Empty>No workers: nothing runs until one is started.</Empty>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Workers">
      <table>
        <thead>
          <tr>
            <th>Worker</th>
            <th>Host</th>
            <th>Pools</th>
            <th>Slots in use</th>
            <th class="number">Done</th>
            <th>Started</th>
            <th>Lease</th>
            <th>Version</th>
            <th>State</th>
            <th>
              <span class="faint">Action</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {found.data.workers.map((worker) => (
            <tr key={worker.id}>
              <td class="mono">{shortId(worker.id)}</td>
              <td class="cut">
                {worker.host}:{worker.pid}
              </td>
              <td>{worker.pools.join(", ")}</td>
              <td>
                <Usage used={worker.report["running"] ?? 0} of={worker.slots} />
              </td>
              <td class="number">{count(worker.report["succeeded"] ?? 0)}</td>
              <td>
                <When at={worker.started_at} />
              </td>
              <td>{worker.live ? duration(worker.lease_left) : "over"}</td>
              <td>{worker.version}</td>
              <td>
                <StateBadge state={worker.live ? worker.state : "lost"} />
              </td>
              <td>
                {operates && worker.live && (
                  <ActionButton
                    question={{
                      title: "Drain this worker",
                      what: "It claims nothing more, finishes what runs, and ends.",
                      label: "Drain",
                      danger: true,
                      run: (reason) => send("POST", `/v1/workers/${worker.id}/drain${searchOf({ reason })}`),
                      done: refresh,
                    }}
                  />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Pauses({ operates }: { operates: boolean }) {
  const found = useRead<{ pauses: Pause[] }>("/v1/pauses", {}, 5_000);
  const refresh = useRefresh();
  return (
    <section>
      <h2>Paused</h2>
      {found.data?.pauses.length === 0 && <Empty>Nothing is paused.</Empty>}
      <ul class="cards">
        {found.data?.pauses.map((pause) => (
          <li key={`${pause.scope} ${pause.name}`} class="card">
            <h3>
              {pause.scope} {pause.name}
            </h3>
            <p>
              {pause.reason} <span class="faint">since <When at={pause.since} /></span>
            </p>
            {operates && (
              <ActionButton
                question={{
                  title: `Resume ${pause.scope} ${pause.name}`,
                  what: "What waits may start again.",
                  label: "Resume",
                  needsReason: true,
                  run: (reason) => send("POST", "/v1/pauses/resume", { scope: pause.scope, name: pause.name, reason }),
                  done: refresh,
                }}
              />
            )}
          </li>
        ))}
      </ul>
      {operates && <PauseForm refresh={refresh} />}
    </section>
  );
}

function PauseForm({ refresh }: { refresh: () => void }) {
  const [scope, setScope] = useState("type");
  const [name, setName] = useState("");
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        Pause
        <select value={scope} onChange={(event) => setScope(event.currentTarget.value)}>
          <option>type</option>
          <option>tenant</option>
          <option>pool</option>
        </select>
      </label>
      <label>
        Name
        <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <ActionButton
        disabled={!name.trim()}
        question={{
          title: `Pause ${scope} ${name}`,
          what: "Nothing of it starts until it is resumed; what runs goes on, and nothing is lost.",
          label: "Pause",
          danger: true,
          needsReason: true,
          run: (reason) => send("POST", "/v1/pauses", { scope, name: name.trim(), reason }),
          done: refresh,
        }}
      />
    </form>
  );
}
