import { send } from "../api";
import { ActionButton, Empty, Failure, Loading } from "../parts/feedback";
import { useRead, useRefresh } from "../parts/query";
import { count, StateBadge, When } from "../parts/text";

interface Breaker {
  name: string;
  phase: string;
  good: number;
  bad: number;
  why: string | null;
  since: string | null;
  until: string | null;
  by: string | null;
  types: string[];
}

interface Quarantined {
  type: string;
  why: string;
  by: string | null;
  since: string | null;
}

interface Limit {
  scope: string;
  name: string;
  concurrent: number | null;
  rate: number | null;
  set_by: string;
  running: number;
  tokens: number | null;
}

export function Guards({ operates }: { operates: boolean }) {
  return (
    <>
      <h1>Breakers and limits</h1>
      <Breakers operates={operates} />
      <Quarantines operates={operates} />
      <Limits />
    </>
  );
}

function Breakers({ operates }: { operates: boolean }) {
  const found = useRead<{ breakers: Breaker[] }>("/v1/breakers", {}, 3_000);
  const refresh = useRefresh();
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading />;
  if (found.data.breakers.length === 0) return <Empty>No breaker has anything to tell: no dependency is declared, and no type failed lately.</Empty>;
  const act = (action: string, name: string) => (reason: string) => send("POST", `/v1/breakers/${action}`, { name, reason });
  return (
    <ul class="cards" aria-label="Breakers">
      {found.data.breakers.map((breaker) => (
        <li key={breaker.name} class="card">
          <h2>
            {breaker.name} <StateBadge state={breaker.phase} />
          </h2>
          <p>
            {count(breaker.good)} good runs, {count(breaker.bad)} bad ones
            {breaker.types.length > 0 && <span class="faint"> · used by {breaker.types.join(", ")}</span>}
          </p>
          {breaker.phase !== "closed" && (
            <p>
              {breaker.why} <span class="faint">since <When at={breaker.since} />{breaker.until && <>, until <When at={breaker.until} /></>}{breaker.by && ` by ${breaker.by}`}</span>
            </p>
          )}
          {operates && breaker.phase === "closed" && (
            <ActionButton
              question={{
                title: `Open ${breaker.name}`,
                what: `No job of ${breaker.types.join(", ") || "its types"} starts until somebody closes it; what runs goes on, and what waits keeps its attempts.`,
                label: "Open",
                danger: true,
                needsReason: true,
                run: act("open", breaker.name),
                done: refresh,
              }}
            />
          )}
          {operates && breaker.phase !== "closed" && (
            <ActionButton
              question={{ title: `Close ${breaker.name}`, what: "Everything that waits for it may start at once.", label: "Close", needsReason: true, run: act("close", breaker.name), done: refresh }}
            />
          )}
        </li>
      ))}
    </ul>
  );
}

function Quarantines({ operates }: { operates: boolean }) {
  const found = useRead<{ quarantines: Quarantined[] }>("/v1/quarantines", {}, 3_000);
  const refresh = useRefresh();
  return (
    <section>
      <h2>In quarantine</h2>
      {found.data?.quarantines.length === 0 && <Empty>No type is in quarantine.</Empty>}
      <ul class="cards">
        {found.data?.quarantines.map((item) => (
          <li key={item.type} class="card">
            <h3>{item.type}</h3>
            <p>
              {item.why} <span class="faint">since <When at={item.since} />{item.by && ` by ${item.by}`}</span>
            </p>
            {operates && (
              <ActionButton
                question={{
                  title: `Release ${item.type}`,
                  what: "Its jobs may start again, and its runs are counted from nothing.",
                  label: "Release",
                  needsReason: true,
                  run: (reason) => send("POST", "/v1/quarantines/release", { type: item.type, reason }),
                  done: refresh,
                }}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Limits() {
  const found = useRead<{ limits: Limit[] }>("/v1/limits", {}, 3_000);
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return null;
  return (
    <section>
      <h2>Limits</h2>
      {found.data.limits.length === 0 && <Empty>Nothing is limited.</Empty>}
      {found.data.limits.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Limits">
          <table>
            <thead>
              <tr>
                <th>Of</th>
                <th class="number">Running</th>
                <th class="number">At once</th>
                <th class="number">Starts a second</th>
                <th class="number">Left of the rate</th>
                <th>Set by</th>
              </tr>
            </thead>
            <tbody>
              {found.data.limits.map((limit) => (
                <tr key={`${limit.scope} ${limit.name}`}>
                  <td class="cut">
                    {limit.scope} {limit.name}
                  </td>
                  <td class="number">{count(limit.running)}</td>
                  <td class="number">{limit.concurrent ?? "–"}</td>
                  <td class="number">{limit.rate ?? "–"}</td>
                  <td class="number">{limit.tokens === null ? "–" : limit.tokens.toFixed(1)}</td>
                  <td class="cut">{limit.set_by}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
