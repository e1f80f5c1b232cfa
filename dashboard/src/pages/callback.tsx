import { useState } from "preact/hooks";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead } from "../parts/query";
import { Secret } from "../parts/secret";
import { duration, shortId, StateBadge, When } from "../parts/text";
import type { Place } from "../router";
import { EndpointActions, Redeliver, type Made } from "./callback-actions";
import { pageOf, pathOf, type Delivery, type Endpoint } from "./callback-types";
import { wordsOf } from "./callbacks";

interface Log {
  deliveries: Delivery[];
  cursor: number | null;
}

export function CallbackPage({ name, place, operates }: { name: string; place: Place; operates: boolean }) {
  const which = { name, tenant: place.query.get("tenant") };
  const found = useRead<Endpoint>(pathOf(which), {}, 5_000);
  return (
    <>
      <p class="crumb">
        <Link to="/callbacks">Callbacks</Link>
      </p>
      <h1>
        {name} {found.data && <StateBadge state={found.data.enabled ? "active" : "disabled"} />}
      </h1>
      {found.error ? <Failure error={found.error} /> : !found.data ? <Loading /> : <Detail endpoint={found.data} place={place} operates={operates} />}
    </>
  );
}

function Detail({ endpoint, place, operates }: { endpoint: Endpoint; place: Place; operates: boolean }) {
  const [made, setMade] = useState<Made | null>(null);
  return (
    <>
      {!endpoint.enabled && (
        <p class="warn">
          Nothing is sent to it{endpoint.why_disabled ? `: ${endpoint.why_disabled}` : " until it is enabled"}.
        </p>
      )}
      {operates && <EndpointActions endpoint={endpoint} made={setMade} />}
      {made && <Secret text={made.secret} words="The new secret, which signs what is sent from now on." close={() => setMade(null)} />}
      <Facts endpoint={endpoint} />
      <Deliveries endpoint={endpoint} place={place} operates={operates} />
    </>
  );
}

function Facts({ endpoint }: { endpoint: Endpoint }) {
  return (
    <dl class="facts panel">
      <div class="whole">
        <dt>Goes to</dt>
        <dd class="mono">{endpoint.url}</dd>
      </div>
      <div>
        <dt>For jobs of</dt>
        <dd>{endpoint.tenant ?? "all tenants"}</dd>
      </div>
      <div>
        <dt>Is told</dt>
        <dd>{wordsOf(endpoint.events)}</dd>
      </div>
      <div>
        <dt>Delivered by the pool</dt>
        <dd>{endpoint.pool}</dd>
      </div>
      <div>
        <dt>Secrets</dt>
        <dd>{endpoint.secrets === 1 ? "one" : `${endpoint.secrets}, ended ones included`}</dd>
      </div>
      <div>
        <dt>Made</dt>
        <dd>
          <When at={endpoint.created_at} />
        </dd>
      </div>
    </dl>
  );
}

function Deliveries({ endpoint, place, operates }: { endpoint: Endpoint; place: Place; operates: boolean }) {
  const cursor = place.query.get("cursor");
  const found = useRead<Log>(pathOf(endpoint, "/deliveries", { cursor }), {}, 3_000);
  return (
    <section>
      <h2>What was sent</h2>
      {found.error ? (
        <Failure error={found.error} />
      ) : !found.data ? (
        <Loading />
      ) : found.data.deliveries.length === 0 ? (
        <Empty>Nothing was sent to it yet. Send a ping to see whether it can be reached.</Empty>
      ) : (
        <LogTable endpoint={endpoint} deliveries={found.data.deliveries} operates={operates} />
      )}
      <p class="pager">
        {cursor !== null && <Link to={pageOf(endpoint)}>Newest tries</Link>}
        {found.data?.cursor != null && <Link to={olderThan(endpoint, found.data.cursor)}>Older tries</Link>}
      </p>
    </section>
  );
}

function LogTable({ endpoint, deliveries, operates }: { endpoint: Endpoint; deliveries: Delivery[]; operates: boolean }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="What was sent">
      <table>
        <thead>
          <tr>
            <th>When</th>
            <th>Event</th>
            <th>Job</th>
            <th>Answer</th>
            <th class="number">Try</th>
            <th class="number">Took</th>
            <th>What went wrong</th>
            <th>Delivery</th>
            {operates && (
              <th>
                <span class="faint">Action</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {deliveries.map((delivery) => (
            <tr key={delivery.id}>
              <td>
                <When at={delivery.at} />
              </td>
              <td>{delivery.event}</td>
              <td>
                {delivery.job_id === null ? <span class="faint">–</span> : <Link to={`/jobs/${delivery.job_id}`}>{shortId(delivery.job_id)}</Link>}
              </td>
              <td>
                <Answer delivery={delivery} />
              </td>
              <td class="number">{delivery.attempt}</td>
              <td class="number">{duration(delivery.took)}</td>
              <td class="wrap">{delivery.error}</td>
              <td title={`webhook-id ${delivery.message}`}>
                <Link to={`/jobs/${delivery.delivery}`}>{shortId(delivery.delivery)}</Link>
              </td>
              {operates && (
                <td class="row-actions">
                  <Redeliver endpoint={endpoint} delivery={delivery} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Answer({ delivery }: { delivery: Delivery }) {
  const taken = delivery.status !== null && delivery.status >= 200 && delivery.status < 300;
  return <span class={`badge ${taken ? "state-succeeded" : "state-dead"}`}>{delivery.status ?? "none"}</span>;
}

function olderThan(endpoint: Endpoint, cursor: number): string {
  const page = pageOf(endpoint);
  return `${page}${page.includes("?") ? "&" : "?"}cursor=${cursor}`;
}
