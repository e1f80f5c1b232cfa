import { useState } from "preact/hooks";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Filter } from "../parts/filter";
import { Link } from "../parts/link";
import { useRead } from "../parts/query";
import { Spark } from "../parts/spark";
import { count, plural, When } from "../parts/text";
import { setFilter, type Place } from "../router";
import type { DeadGroupDocument as DeadGroup } from "../types";
import { Group } from "./dead-group";

const MOST = 100;
const ORDERS = {
  largest: (a: DeadGroup, b: DeadGroup) => b.count - a.count,
  newest: (a: DeadGroup, b: DeadGroup) => Date.parse(b.last_at) - Date.parse(a.last_at),
  rising: (a: DeadGroup, b: DeadGroup) => lastHour(b) - lastHour(a),
};

export function DeadLetters({ place, operates }: { place: Place; operates: boolean }) {
  const fingerprint = place.query.get("fingerprint");
  const type = place.query.get("type");
  if (fingerprint !== null && type !== null) return <Group fingerprint={fingerprint} type={type} operates={operates} />;
  return <Groups place={place} />;
}

function Groups({ place }: { place: Place }) {
  const [order, setOrder] = useState<keyof typeof ORDERS>("largest");
  const wanted = { type: place.query.get("type"), tenant: place.query.get("tenant") };
  const found = useRead<{ groups: DeadGroup[] }>("/v1/dead-letters/groups", { ...wanted, limit: MOST }, 5_000);
  const change = (name: string, value: string) => setFilter(place.query, "/dead-letters", name, value);
  return (
    <>
      <h1>Dead letters</h1>
      <search>
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <Filter name="type" words="Type" value={wanted.type ?? ""} change={change} />
          <Filter name="tenant" words="Tenant" value={wanted.tenant ?? ""} change={change} />
          <label>
            First
            <select value={order} onChange={(event) => setOrder(event.currentTarget.value as keyof typeof ORDERS)}>
              <option value="largest">the largest</option>
              <option value="newest">the newest</option>
              <option value="rising">the most in the last hour</option>
            </select>
          </label>
        </form>
      </search>
      {found.error ? <Failure error={found.error} /> : !found.data ? <Loading /> : <Cards groups={[...found.data.groups].sort(ORDERS[order])} />}
    </>
  );
}

function Cards({ groups }: { groups: DeadGroup[] }) {
  if (groups.length === 0) return <Empty>No dead letters: nothing has run out of attempts.</Empty>;
  const total = groups.reduce((sum, group) => sum + group.count, 0);
  const fresh = groups.reduce((sum, group) => sum + lastHour(group), 0);
  return (
    <>
      <p class="faint">
        {plural(total, "job")} in {plural(groups.length, "group")}
        {groups.length === MOST && ", the largest of all"}; {count(fresh)} died within the last hour.
      </p>
      <ul class="cards">
        {groups.map((group) => (
          <li key={`${group.type} ${group.fingerprint}`} class="card">
            <h2>
              <Link to={`/dead-letters?${addressOf(group)}`}>{group.type}</Link> <span class="badge">{count(group.count)}</span>
            </h2>
            <p class="cut-lines">
              <strong>{group.error_type ?? "no error"}</strong> {group.message}
            </p>
            <Spark values={group.trend} label="Died in the last 24 hours" />
            <p class="faint">
              {plural(group.tenants, "tenant")} · first <When at={group.first_at} /> · last <When at={group.last_at} />
            </p>
          </li>
        ))}
      </ul>
    </>
  );
}

function lastHour(group: DeadGroup): number {
  return group.trend[group.trend.length - 1] ?? 0;
}

function addressOf(group: DeadGroup): string {
  return new URLSearchParams({ fingerprint: group.fingerprint ?? "", type: group.type }).toString();
}
