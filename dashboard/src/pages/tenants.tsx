import { useState } from "preact/hooks";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead } from "../parts/query";
import { count, duration } from "../parts/text";

interface Tenant {
  name: string;
  tier: string;
  weight: number | null;
  minimum: number | null;
  waiting: number;
}

interface Share {
  pool: string;
  tenant: string;
  entitled: number;
  delivered: number;
  waiting: number;
}

const WINDOWS = [
  [300, "5 minutes"],
  [3600, "hour"],
  [86400, "day"],
  [2592000, "30 days"],
] as const;

export function Tenants() {
  const [window, setWindow] = useState<number>(3600);
  const found = useRead<{ tenants: Tenant[] }>("/v1/tenants", {}, 5_000);
  const report = useRead<{ jain: number | null; shares: Share[] }>("/v1/shares", { window }, 5_000);
  if (found.error) return <Failure error={found.error} />;
  if (report.error) return <Failure error={report.error} />;
  if (!found.data || !report.data) return <Loading />;
  const known = new Map(found.data.tenants.map((tenant) => [tenant.name, tenant]));
  const pools = [...new Set(report.data.shares.map((share) => share.pool))].sort();
  return (
    <>
      <h1>Tenants</h1>
      <div class="filters">
        <label>
          Within the last
          <select value={window} onChange={(event) => setWindow(Number(event.currentTarget.value))}>
            {WINDOWS.map(([seconds, words]) => (
              <option key={seconds} value={seconds}>
                {words}
              </option>
            ))}
          </select>
        </label>
        {report.data.jain !== null && report.data.shares.length > 0 && (
          <p class="faint">Fairness (Jain's index, 1 is perfect): {report.data.jain.toFixed(3)}</p>
        )}
      </div>
      {pools.map((pool) => (
        <PoolShares key={pool} pool={pool} shares={report.data.shares.filter((share) => share.pool === pool)} known={known} />
      ))}
      {pools.length === 0 && <Empty>No work was shared in this time.</Empty>}
      <Standing tenants={found.data.tenants} />
    </>
  );
}

// What each was due and got, as two bars on one scale.
function PoolShares({ pool, shares, known }: { pool: string; shares: Share[]; known: Map<string, Tenant> }) {
  const most = Math.max(...shares.map((share) => Math.max(share.entitled, share.delivered)), 0.001);
  const sorted = [...shares].sort((a, b) => b.delivered - a.delivered);
  return (
    <section class="panel">
      <h2>Pool {pool}</h2>
      <ol class="runs">
        {sorted.map((share) => (
          <li key={share.tenant}>
            <Link to={`/jobs?${new URLSearchParams({ tenant: share.tenant, pool }).toString()}`}>{share.tenant}</Link>
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              <rect class="bar-entitled" width={(share.entitled / most) * 100} y={0} height={4.6} />
              <rect class="bar-running" width={(share.delivered / most) * 100} y={5.4} height={4.6} />
            </svg>
            <span class="note faint">
              due {duration(share.entitled)}, got {duration(share.delivered)}
              {known.get(share.tenant) && ` · ${known.get(share.tenant)?.tier}`}
            </span>
          </li>
        ))}
      </ol>
      <p class="faint">Slot-seconds: above what each was due, below what it got.</p>
    </section>
  );
}

function Standing({ tenants }: { tenants: Tenant[] }) {
  if (tenants.length === 0) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Tenants">
      <table>
        <thead>
          <tr>
            <th>Tenant</th>
            <th>Tier</th>
            <th class="number">Weight</th>
            <th class="number">Guaranteed</th>
            <th class="number">Waiting</th>
          </tr>
        </thead>
        <tbody>
          {tenants.map((tenant) => (
            <tr key={tenant.name}>
              <td class="cut">{tenant.name}</td>
              <td>{tenant.tier}</td>
              <td class="number">{tenant.weight ?? "its tier's"}</td>
              <td class="number">{tenant.minimum === null ? "its tier's" : `${Math.round(tenant.minimum * 100)} %`}</td>
              <td class="number">{count(tenant.waiting)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
