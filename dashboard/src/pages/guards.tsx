import { useState } from "preact/hooks";
import { send } from "../api";
import { Affected } from "../parts/affected";
import { ActionButton, Failure, Loading, numberOf } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead, useRefresh } from "../parts/query";
import { plural, StateBadge, When } from "../parts/text";
import { Limits } from "./limits";

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
  attempts: number;
}

export function Guards({ operates }: { operates: boolean }) {
  return (
    <>
      <h1>Breakers and limits</h1>
      <Breakers operates={operates} />
      <Quarantines operates={operates} />
      <Limits operates={operates} />
    </>
  );
}

function Breakers({ operates }: { operates: boolean }) {
  const found = useRead<{ breakers: Breaker[] }>("/v1/breakers", {}, 3_000);
  const refresh = useRefresh();
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading />;
  if (found.data.breakers.length === 0) return <p class="faint">No breaker has anything to tell: no dependency is declared, and no type failed lately.</p>;
  const worstFirst = [...found.data.breakers].sort((a, b) => Number(a.phase === "closed") - Number(b.phase === "closed"));
  const act = (action: string, name: string) => (reason: string) => send("POST", `/v1/breakers/${action}`, { name, reason });
  return (
    <ul class="cards" aria-label="Breakers">
      {worstFirst.map((breaker) => (
        <li key={breaker.name} class="card">
          <h2>
            {breaker.name} <StateBadge state={breaker.phase} />
          </h2>
          {breaker.phase !== "closed" && (
            <p>
              <strong>{breaker.why}</strong>{" "}
              <span class="faint">
                <When at={breaker.since} />
                {breaker.by && ` by ${breaker.by}`}
                {breaker.until && <Again at={breaker.until} />}
              </span>
            </p>
          )}
          {(breaker.phase === "closed" || breaker.good + breaker.bad > 0) && (
            <p>
              {plural(breaker.good, "good run")}, {plural(breaker.bad, "bad one")}
            </p>
          )}
          <p class="links">
            {breaker.types.map((type) => (
              <Waiting key={type} type={type} counted={breaker.phase !== "closed"} />
            ))}
          </p>
          {operates && breaker.phase === "closed" && (
            <ActionButton
              question={{
                title: `Open ${breaker.name}`,
                what: (
                  <>
                    No job of {breaker.types.join(", ") || "its types"} starts until somebody closes it; what runs goes on, and what waits keeps its attempts.
                    {breaker.types.length === 1 && <Affected of={{ type: breaker.types[0] }} />}
                  </>
                ),
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
              question={{
                title: `Close ${breaker.name}`,
                what: (
                  <>
                    Everything that waits for it may start at once, and its runs are counted from nothing.
                    {breaker.types.length === 1 && <Affected of={{ type: breaker.types[0] }} />}
                  </>
                ),
                label: "Close",
                needsReason: true,
                run: act("close", breaker.name),
                done: refresh,
              }}
            />
          )}
        </li>
      ))}
    </ul>
  );
}

const HELD = ["ready", "retrying"];

function Again({ at }: { at: string }) {
  if (Date.parse(at) < Date.now()) return <>; it tries again with the next job</>;
  return <>; it tries again <When at={at} /></>;
}

// What waits of a type; counted only where something keeps it.
function Waiting({ type, counted }: { type: string; counted: boolean }) {
  const to = `/jobs?${new URLSearchParams([["type", type], ...HELD.map((state) => ["state", state])]).toString()}`;
  return <Link to={to}>{counted ? <Count type={type} /> : `what waits of ${type}`}</Link>;
}

function Count({ type }: { type: string }) {
  const found = useRead<{ states: Record<string, number> }>("/v1/jobs/count", { type, state: HELD }, 5_000);
  const total = Object.values(found.data?.states ?? {}).reduce((sum, number) => sum + number, 0);
  return <>{found.data ? `${plural(total, "job")} of ${type} ${total === 1 ? "waits" : "wait"}` : `what waits of ${type}`}</>;
}

function Quarantines({ operates }: { operates: boolean }) {
  const found = useRead<{ quarantines: Quarantined[] }>("/v1/quarantines", {}, 3_000);
  const refresh = useRefresh();
  return (
    <section>
      <h2>In quarantine</h2>
      {found.data?.quarantines.length === 0 && <p class="faint">No type is in quarantine.</p>}
      <ul class="cards">
        {found.data?.quarantines.map((item) => (
          <li key={item.type} class="card">
            <h3>{item.type}</h3>
            <p class="links">
              <Waiting type={item.type} counted />
            </p>
            <p class="faint">{item.attempts === 0 ? "Nothing of it starts." : `Its jobs have ${plural(item.attempts, "attempt")}.`}</p>
            <p>
              {item.why} <span class="faint">since <When at={item.since} />{item.by && ` by ${item.by}`}</span>
            </p>
            {operates && (
              <ActionButton
                question={{
                  title: `Release ${item.type}`,
                  what: (
                    <>
                      Its jobs may start again, and its runs are counted from nothing.
                      <Affected of={{ type: item.type }} />
                    </>
                  ),
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
      {operates && <QuarantineForm refresh={refresh} />}
    </section>
  );
}

function QuarantineForm({ refresh }: { refresh: () => void }) {
  const types = useRead<{ types: { name: string }[] }>("/v1/types");
  const [wanted, setWanted] = useState("");
  const type = wanted || (types.data?.types[0]?.name ?? "");
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        Type
        <select value={type} onChange={(event) => setWanted(event.currentTarget.value)}>
          {types.data?.types.map((one) => <option key={one.name}>{one.name}</option>)}
        </select>
      </label>
      <ActionButton
        disabled={!type}
        question={{
          title: `Put ${type} in quarantine`,
          what: (
            <>
              Until somebody releases it, its jobs have only so many attempts; with none, nothing of it starts, and what waits stays. What runs goes on.
              <Affected of={{ type }} />
            </>
          ),
          label: "Put in quarantine",
          danger: true,
          needsReason: true,
          fields: [{ name: "attempts", label: "Attempts of its jobs", kind: "number", value: 0, min: 0, max: 100, required: true, hint: "0: nothing starts. What has used them up goes to the dead letters." }],
          run: (reason, values) => send("POST", "/v1/quarantines", { type, attempts: numberOf(values["attempts"]) ?? 0, reason }),
          done: refresh,
        }}
      />
    </form>
  );
}
