import { ActionButton, numberOf, type Field, type Values } from "../parts/feedback";
import { Link } from "../parts/link";
import { inOrder } from "../parts/pools";
import { useRead, useRefresh } from "../parts/query";
import { changeSetting, removeSetting, setSetting, useSettings, type Setting } from "../parts/settings";
import { count, duration, Usage } from "../parts/text";
import type { PoolStatsDocument as Pool, TypeList } from "../types";
import { PauseButton } from "./pauses";

interface PoolSettings {
  longest: number | null;
  concurrency: number | null;
  wait: number | null;
  depth: number | null;
  attempts: number | null;
  timeout: number | null;
  lease: number | null;
  estimate: number;
}

type PoolSetting = Setting<PoolSettings>;

export function PoolTable({ operates }: { operates: boolean }) {
  const found = useSettings<PoolSettings>("pool");
  const stats = useRead<{ pools: Pool[] }>("/v1/status", {}, 5_000);
  const types = useRead<TypeList>("/v1/types");
  if (!found.settings || !stats.data) return null;
  const now = new Map(stats.data.pools.map((pool) => [pool.pool, pool]));
  const known = new Set(found.settings.map((pool) => pool.name));
  const others = stats.data.pools.filter((pool) => !known.has(pool.pool));
  return (
    <section>
      <h2>Pools</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Pools">
        <table>
          <thead>
            <tr>
              <th>Pool</th>
              <th class="number">Ready</th>
              <th>Oldest waits</th>
              <th class="number">Running</th>
              <th class="number">Workers</th>
              <th>Slots in use</th>
              <th>Should run at most</th>
              <th>Should wait at most</th>
              <th class="number">Slots of a worker</th>
              <th>
                <span class="faint">Action</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {inOrder(found.settings.map((pool) => pool.name)).flatMap((name) => found.settings?.filter((pool) => pool.name === name) ?? []).map((pool) => (
              <Row key={pool.name} name={pool.name} settings={pool} now={now.get(pool.name)} operates={operates} />
            ))}
            {others.map((pool) => (
              <Row key={pool.pool} name={pool.pool} now={pool} operates={operates} />
            ))}
          </tbody>
        </table>
      </div>
      {types.data?.types.filter((type) => type.place !== type.pool).map((type) => (
        <p key={type.name}>
          Jobs of <strong>{type.name}</strong> go to the pool <strong>{type.place}</strong> instead of {type.pool}; <Link to="/types">its history</Link> says why.
        </p>
      ))}
      {operates && <NewPool />}
    </section>
  );
}

function Row({ name, settings, now, operates }: { name: string; settings?: PoolSetting; now?: Pool | undefined; operates: boolean }) {
  const time = (value: number | null | undefined) => (value == null ? "–" : duration(value));
  const refresh = useRefresh();
  const late = now?.oldest_ready != null && settings?.wait != null && now.oldest_ready > settings.wait;
  return (
    <tr>
      <td>
        <Link to={`/jobs?${new URLSearchParams({ pool: name }).toString()}`}>{name}</Link>
      </td>
      <td class="number">{count(now?.jobs.ready ?? 0)}</td>
      <td class={late ? "warn" : ""}>{time(now?.oldest_ready)}</td>
      <td class="number">{count(now?.jobs.running ?? 0)}</td>
      <td class={now?.jobs.ready && !now.workers ? "number bad" : "number"}>{count(now?.workers ?? 0)}</td>
      <td>
        <Usage used={now?.running ?? 0} of={now?.slots ?? 0} />
      </td>
      <td>{time(settings?.longest)}</td>
      <td>{time(settings?.wait)}</td>
      <td class="number">{settings?.concurrency ?? "all"}</td>
      <td class="row-actions">
        {operates && <Change name={name} settings={settings} waiting={now?.jobs.ready ?? 0} />}
        {operates && <PauseButton scope="pool" name={name} done={refresh} />}
      </td>
    </tr>
  );
}

function fieldsOf(settings?: PoolSettings): Field[] {
  return [
    { name: "concurrency", label: "Slots of one worker that its jobs may take", kind: "number", value: settings?.concurrency ?? null, min: 1, hint: "Empty: all of them." },
    { name: "longest", label: "Seconds that its jobs should run at most", kind: "number", value: settings?.longest ?? null, min: 0, hint: "Types that take longer are moved to a pool that fits. Empty: any time." },
    { name: "wait", label: "Seconds that its jobs should wait at most", kind: "number", value: settings?.wait ?? null, min: 0, hint: "Longer waits for two minutes are an alert. Empty: any time." },
    { name: "depth", label: "Jobs that should be ready at most", kind: "number", value: settings?.depth ?? null, min: 0, hint: "More of them for five minutes are an alert. Empty: any number." },
    { name: "attempts", label: "Attempts of jobs whose type declares none", kind: "number", value: settings?.attempts ?? null, min: 1, hint: "Empty: as the type's policy says." },
    { name: "timeout", label: "Seconds after which runs without a timeout are stopped", kind: "number", value: settings?.timeout ?? null, min: 0, hint: "Empty: never." },
    { name: "lease", label: "Seconds after which jobs of a dead worker are run by others", kind: "number", value: settings?.lease ?? null, min: 1, max: 3600, hint: "A worker has the shortest lease of its pools. Empty: the setting of that name." },
    { name: "estimate", label: "Seconds that a job of a new type is charged at first", kind: "number", value: settings?.estimate ?? null, min: 0 },
  ];
}

function valueOf(values: Values) {
  return Object.fromEntries(["concurrency", "longest", "wait", "depth", "estimate", "attempts", "timeout", "lease"].map((name) => [name, numberOf(values[name])]));
}

function Change({ name, settings, waiting }: { name: string; settings: PoolSetting | undefined; waiting: number }) {
  const refresh = useRefresh();
  return (
    <>
      <ActionButton
        question={{
          title: `Change the pool ${name}`,
          what: `All workers follow within a second; ${count(waiting)} jobs are ready in it now. What runs goes on.`,
          label: "Change",
          fields: fieldsOf(settings),
          run: (reason, values) => changeSetting("pool", name, valueOf(values), reason, settings?.version),
          done: refresh,
        }}
      />
      {settings && settings.version > 0 && (
        <ActionButton
          question={{
            title: `Forget what was set for the pool ${name}`,
            what: `It has the settings again that it came with. Its ${count(waiting)} ready jobs stay.`,
            label: "Reset",
            danger: true,
            run: (reason) => removeSetting("pool", name, reason, settings.version),
            done: refresh,
          }}
        />
      )}
    </>
  );
}

function NewPool() {
  const refresh = useRefresh();
  return (
    <p class="actions">
      <ActionButton
        question={{
          title: "Set up a pool",
          what: "Jobs go to it whose handler or submission names it; workers serve it that are started with its name.",
          label: "Set up a pool",
          fields: [{ name: "name", label: "Name", required: true }, ...fieldsOf()],
          run: (reason, values) => setSetting("pool", values["name"]?.trim() ?? "", valueOf(values), reason, 0),
          done: refresh,
        }}
      />
    </p>
  );
}
