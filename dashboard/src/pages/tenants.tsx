import { useState } from "preact/hooks";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Link } from "../parts/link";
import { inOrder } from "../parts/pools";
import { useRead } from "../parts/query";
import { count, duration, percent } from "../parts/text";
import { download } from "../parts/download";
import { NewTenant } from "./tenant-actions";
import type { Share, Tenant, Tiers } from "./tenant-types";

const MONTH = "month";
const WINDOWS = [
  ["300", "5 minutes"],
  ["3600", "hour"],
  ["86400", "day"],
  [MONTH, "calendar month so far"],
  ["2592000", "30 days"],
] as const;

export function Tenants({ operates }: { operates: boolean }) {
  const [wanted, setWanted] = useState("3600");
  const window = secondsOf(wanted);
  const found = useRead<{ tenants: Tenant[] }>("/v1/tenants", {}, 5_000);
  const report = useRead<{ jain: number | null; shares: Share[] }>("/v1/shares", { window }, 5_000);
  if (found.error) return <Failure error={found.error} />;
  if (report.error) return <Failure error={report.error} />;
  if (!found.data || !report.data) return <Loading />;
  const { shares, jain } = report.data;
  const pools = inOrder(shares.map((share) => share.pool));
  return (
    <>
      <h1>Tenants</h1>
      <div class="filters">
        <label>
          Within the last
          <select value={wanted} onChange={(event) => setWanted(event.currentTarget.value)}>
            {WINDOWS.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </label>
        {jain !== null && shares.length > 0 && <p class="faint">Fairness (Jain's index, 1 is perfect): {jain.toFixed(3)}</p>}
        {operates && <NewTenant />}
        {shares.length > 0 && (
          <button type="button" onClick={() => download(`slot-seconds-${new Date().toISOString().slice(0, 10)}.csv`, csvOf(shares))}>
            Slot-seconds as CSV
          </button>
        )}
      </div>
      <Standing tenants={found.data.tenants} shares={shares} />
      {pools.map((pool) => (
        <PoolShares key={pool} pool={pool} shares={shares.filter((share) => share.pool === pool)} />
      ))}
      {pools.length === 0 && <Empty>No work was shared in this time.</Empty>}
    </>
  );
}

// Whole minutes, so that the same question is asked again and its answer is kept.
function secondsOf(wanted: string): number {
  if (wanted !== MONTH) return Number(wanted);
  const now = new Date();
  const begin = Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  return Math.max(60, Math.ceil((now.getTime() - begin) / 60_000) * 60);
}

function csvOf(shares: Share[]): string {
  const rows = shares.map((share) => [share.tenant, share.pool, share.entitled.toFixed(3), share.delivered.toFixed(3), share.reserved.toFixed(3)]);
  return [["tenant", "pool", "entitled", "delivered", "reserved"], ...rows].map((row) => row.join(",")).join("\n") + "\n";
}

interface Row extends Omit<Tenant, "since"> {
  entitled: number;
  delivered: number;
}

// Everybody who was set up, has work waiting, or got something in this time.
function Standing({ tenants, shares }: { tenants: Tenant[]; shares: Share[] }) {
  const known = useRead<Tiers>("/v1/tiers");
  const tiers = new Map(known.data?.tiers.map((tier) => [tier.name, tier]));
  const rows = rowsOf(tenants, shares, known.data?.default ?? "");
  const total = rows.reduce((sum, row) => sum + row.delivered, 0);
  if (rows.length === 0) return null;
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
            <th class="number">Slot-seconds due</th>
            <th class="number">Slot-seconds got</th>
            <th class="number">Of all</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <td class="cut">
                <Link to={`/tenants/${encodeURIComponent(row.name)}`}>{row.name}</Link>
              </td>
              <td class={row.set_up ? "" : "faint"}>{row.tier}</td>
              <td class={row.weight === null ? "number faint" : "number"}>{row.weight ?? tiers.get(row.tier)?.weight ?? "–"}</td>
              <td class={row.minimum === null ? "number faint" : "number"}>{percent(row.minimum ?? tiers.get(row.tier)?.minimum ?? 0)}</td>
              <td class="number">{count(row.waiting)}</td>
              <td class="number">{count(Math.round(row.entitled))}</td>
              <td class="number">{count(Math.round(row.delivered))}</td>
              <td class="number">{total > 0 ? percent(row.delivered / total) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function rowsOf(tenants: Tenant[], shares: Share[], tier: string): Row[] {
  const rows = new Map<string, Row>(tenants.map((tenant) => [tenant.name, { ...tenant, entitled: 0, delivered: 0 }]));
  for (const share of shares) {
    const nobody = { name: share.tenant, tier, weight: null, minimum: null, set_up: false, waiting: 0, version: 0 };
    const row = rows.get(share.tenant) ?? { ...nobody, entitled: 0, delivered: 0 };
    rows.set(share.tenant, { ...row, entitled: row.entitled + share.entitled, delivered: row.delivered + share.delivered });
  }
  return [...rows.values()].sort((a, b) => b.delivered - a.delivered || a.name.localeCompare(b.name));
}

// What each was due and got, as two bars on one scale.
function PoolShares({ pool, shares }: { pool: string; shares: Share[] }) {
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
            </span>
          </li>
        ))}
      </ol>
      <p class="faint">
        <span class="key bar-entitled" /> due <span class="key bar-running" /> got, in slot-seconds
      </p>
    </section>
  );
}
