import { useState } from "preact/hooks";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Filter } from "../parts/filter";
import { Link } from "../parts/link";
import { useRead } from "../parts/query";
import { Secret } from "../parts/secret";
import { StateBadge, When } from "../parts/text";
import { setFilter, type Place } from "../router";
import { AddEndpoint, type Made } from "./callback-actions";
import { EVENTS, pageOf, type Endpoint } from "./callback-types";

interface Found {
  callbacks: Endpoint[];
  cursor: string | null;
}

export function Callbacks({ place, operates, tenant }: { place: Place; operates: boolean; tenant: string | null }) {
  const [made, setMade] = useState<Made | null>(null);
  const wanted = place.query.get("tenant");
  const cursor = place.query.get("cursor");
  const found = useRead<Found>("/v1/callbacks", { limit: 50, tenant: wanted, cursor }, 5_000);
  return (
    <>
      <h1>Callbacks</h1>
      <p class="faint">An endpoint is told over HTTPS how the jobs that name it have ended.</p>
      {operates && (
        <div class="actions">
          <AddEndpoint tenant={tenant} made={setMade} />
        </div>
      )}
      {made && <Secret text={made.secret} words={`The secret of ${made.name}, which signs what is sent to it.`} close={() => setMade(null)} />}
      {tenant === null && (
        <search>
          <form class="filters" onSubmit={(event) => event.preventDefault()}>
            <Filter name="tenant" words="Of one tenant" value={wanted ?? ""} change={(name, value) => setFilter(place.query, "/callbacks", name, value)} />
          </form>
        </search>
      )}
      {found.error ? <Failure error={found.error} /> : !found.data ? <Loading /> : <Listing endpoints={found.data.callbacks} wanted={wanted} />}
      <p class="pager">
        {cursor !== null && <Link to={addressOf(place, null)}>First endpoints</Link>}
        {found.data?.cursor && <Link to={addressOf(place, found.data.cursor)}>More endpoints</Link>}
      </p>
    </>
  );
}

function Listing({ endpoints, wanted }: { endpoints: Endpoint[]; wanted: string | null }) {
  if (endpoints.length === 0)
    return <Empty>{wanted ? `No endpoints of ${wanted}.` : "No endpoints: add one here or with `fairlead callbacks set`, then name it when you submit a job."}</Empty>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Endpoints">
      <table>
        <thead>
          <tr>
            <th>Endpoint</th>
            <th>For jobs of</th>
            <th>State</th>
            <th>Goes to</th>
            <th>Is told</th>
            <th>Made</th>
          </tr>
        </thead>
        <tbody>
          {endpoints.map((endpoint) => (
            <tr key={`${endpoint.tenant ?? ""}/${endpoint.name}`}>
              <td>
                <Link to={pageOf(endpoint)}>{endpoint.name}</Link>
              </td>
              <td class="cut">{endpoint.tenant ?? <span class="faint">all tenants</span>}</td>
              <td>
                <StateBadge state={endpoint.enabled ? "active" : "disabled"} />
              </td>
              <td class="cut mono" title={endpoint.url}>
                {endpoint.url}
              </td>
              <td>{wordsOf(endpoint.events)}</td>
              <td>
                <When at={endpoint.created_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function wordsOf(events: string[]): string {
  return events.length === EVENTS.length ? "every end" : events.map((event) => event.replace("job.", "")).join(", ");
}

function addressOf(place: Place, cursor: string | null): string {
  const query = new URLSearchParams(place.query);
  query.delete("cursor");
  if (cursor !== null) query.set("cursor", cursor);
  const text = query.toString();
  return `/callbacks${text ? `?${text}` : ""}`;
}
