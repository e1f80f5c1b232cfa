import { Empty, Failure, Loading } from "../parts/feedback";
import { Filter } from "../parts/filter";
import { Link } from "../parts/link";
import { useRead } from "../parts/query";
import { setFilter, type Place } from "../router";

interface Entry {
  id: number;
  at: string;
  actor: string;
  action: string;
  target: string;
  details: Record<string, unknown>;
}

const JOB = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function Audit({ place }: { place: Place }) {
  const job = place.query.get("job_id") ?? "";
  const cursor = place.query.get("cursor");
  const found = useRead<{ entries: Entry[]; cursor: number | null }>("/v1/audit", { limit: 50, cursor, job_id: JOB.test(job) ? job : null }, 5_000);
  const change = (name: string, value: string) => setFilter(place.query, "/audit", name, value);
  return (
    <>
      <h1>Audit</h1>
      <Chain />
      <search>
        <form class="filters long-filters" onSubmit={(event) => event.preventDefault()}>
          <Filter name="job_id" words="Of one job, by its id" value={job} change={change} />
        </form>
      </search>
      {found.error ? <Failure error={found.error} /> : !found.data ? <Loading /> : <Entries entries={found.data.entries} />}
      <p class="pager">
        {cursor !== null && <Link to={addressOf(place, null)}>Newest entries</Link>}
        {found.data?.cursor != null && <Link to={addressOf(place, found.data.cursor)}>Older entries</Link>}
      </p>
    </>
  );
}

function Chain() {
  const chain = useRead<{ sound: boolean; entries: number }>("/v1/audit/verification");
  if (!chain.data) return null;
  return (
    <p class={chain.data.sound ? "faint" : "failure"}>
      {chain.data.sound ? `All ${chain.data.entries} entries are as they were written.` : "Entries were changed: run `fairlead audit --verify`."}
    </p>
  );
}

function Entries({ entries }: { entries: Entry[] }) {
  if (entries.length === 0) return <Empty>Nobody has done anything yet.</Empty>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Audit">
      <table>
        <thead>
          <tr>
            <th class="number">Nr</th>
            <th>When, UTC</th>
            <th>What</th>
            <th>Target</th>
            <th>Why</th>
            <th>Who</th>
            <th>Details</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.id}>
              <td class="number">{entry.id}</td>
              <td>
                <time dateTime={entry.at}>{entry.at.replace("T", " ").slice(0, 19)}</time>
              </td>
              <td>{entry.action}</td>
              <td class="cut">{JOB.test(entry.target) ? <Link to={`/jobs/${entry.target}`}>{entry.target}</Link> : entry.target}</td>
              <td class="wrap narrow">{String(entry.details["reason"] ?? "")}</td>
              <td class="wrap narrow">{entry.actor}</td>
              <td class="wrap mono">{detailsOf(entry)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function detailsOf(entry: Entry): string {
  const rest = Object.entries(entry.details).filter(([name, value]) => name !== "reason" && value !== null);
  return rest.map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");
}

function addressOf(place: Place, cursor: number | null): string {
  const query = new URLSearchParams(place.query);
  query.delete("cursor");
  if (cursor !== null) query.set("cursor", String(cursor));
  const text = query.toString();
  return `/audit${text ? `?${text}` : ""}`;
}
