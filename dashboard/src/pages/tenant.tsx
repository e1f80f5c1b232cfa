import { named } from "../api";
import { Chart } from "../parts/chart";
import { Failure, Loading } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead } from "../parts/query";
import { useSettings } from "../parts/settings";
import { count, duration, percent } from "../parts/text";
import { LimitTable } from "./limits";
import { PauseCard, type Pause } from "./pauses";
import { TenantActions } from "./tenant-actions";
import type { TenantDetail } from "./tenant-types";

const HOUR = 3600; // seconds

export function TenantPage({ name, operates, oversees }: { name: string; operates: boolean; oversees: boolean }) {
  const found = useRead<TenantDetail>(named("/v1/tenants", name), { window: HOUR }, 5_000);
  return (
    <>
      <p class="crumb">
        <Link to="/tenants">Tenants</Link>
      </p>
      <h1>{name}</h1>
      {found.error ? <Failure error={found.error} /> : !found.data ? <Loading /> : <Detail tenant={found.data} operates={operates} oversees={oversees} />}
    </>
  );
}

function Detail({ tenant, operates, oversees }: { tenant: TenantDetail; operates: boolean; oversees: boolean }) {
  const { name } = tenant;
  const jobs = (more: Record<string, string>) => `/jobs?${new URLSearchParams({ tenant: name, ...more }).toString()}`;
  return (
    <>
      {oversees && <OwnPause name={name} operates={operates} />}
      {operates && <TenantActions tenant={tenant} />}
      <Facts tenant={tenant} />
      <p class="links">
        <Link to={jobs({})}>Its jobs</Link> <Link to={jobs({ state: "ready" })}>What waits</Link> <Link to={jobs({ state: "running" })}>What runs</Link>{" "}
        <Link to={`/dead-letters?${new URLSearchParams({ tenant: name }).toString()}`}>Its dead letters</Link>
      </p>
      {oversees && <OwnLimits name={name} operates={operates} />}
      <Hour tenant={tenant} />
    </>
  );
}

function OwnPause({ name, operates }: { name: string; operates: boolean }) {
  const own = useSettings<Pause>("pause").settings?.find((pause) => pause.full === `tenant:${name}`);
  return own ? (
    <ul class="cards">
      <PauseCard pause={own} operates={operates} />
    </ul>
  ) : null;
}

function OwnLimits({ name, operates }: { name: string; operates: boolean }) {
  const own = (scope: string, what: string) => (scope === "tenant" && what === name) || (scope === "tenant+pool" && what.startsWith(`${name}+`));
  return <LimitTable operates={operates} wanted={own} />;
}

function Facts({ tenant }: { tenant: TenantDetail }) {
  const { retry_budget: budget, submission_rate: rate } = tenant;
  const sum = (of: (line: TenantDetail["ledger"][number]) => number) => tenant.ledger.reduce((total, line) => total + of(line), 0);
  const facts: [string, string][] = [
    ["Tier", tenant.set_up ? tenant.tier : `${tenant.tier}, the default`],
    ["Weight", `${tenant.effective_weight}${tenant.weight === null ? ", its tier's" : ""}`],
    ["Guaranteed", percent(tenant.effective_minimum)],
    ["At most", percent(tenant.effective_most)],
    ["Waiting", `${count(tenant.waiting)}${tenant.depth === null ? "" : ` of ${count(tenant.depth)}`}`],
    ["May submit", rate === null ? "as fast as it likes" : `${rate.rate} a second, ${rate.burst} at once`],
    ["Retries", budget.ratio === null ? "no limit" : `${budget.ratio} a first attempt + ${count(budget.floor)} in ${duration(budget.window)}`],
    ["Slot-seconds due, last hour", count(Math.round(sum((line) => line.entitled)))],
    ["Slot-seconds got, last hour", count(Math.round(sum((line) => line.delivered)))],
  ];
  return (
    <dl class="facts panel">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

// The ledger by minute, all pools together; minutes without a line had nothing.
function Hour({ tenant }: { tenant: TenantDetail }) {
  const minutes = new Map<number, { entitled: number; delivered: number; waiting: number }>();
  for (const line of tenant.ledger) {
    const at = Date.parse(line.minute ?? "") / 1000;
    const before = minutes.get(at) ?? { entitled: 0, delivered: 0, waiting: 0 };
    minutes.set(at, { entitled: before.entitled + line.entitled, delivered: before.delivered + line.delivered, waiting: before.waiting + line.waiting });
  }
  const times = [...minutes.keys()].sort((a, b) => a - b);
  if (times.length < 2) return <p class="faint">Its share is drawn once it has worked for two minutes.</p>;
  const values = (of: "entitled" | "delivered" | "waiting") => times.map((at) => minutes.get(at)?.[of] ?? 0);
  return (
    <section class="charts" aria-label="The last hour">
      <Chart title="Slot-seconds a minute" times={times} lines={[{ label: "due", colour: "faint", values: values("entitled") }, { label: "got", colour: "accent", values: values("delivered") }]} />
      <Chart title="Waiting jobs" times={times} lines={[{ label: "waiting", colour: "warn", values: values("waiting") }]} />
    </section>
  );
}
