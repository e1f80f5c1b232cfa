import { useState } from "preact/hooks";
import { Affected } from "../parts/affected";
import { ActionButton, Failure, Loading, numberOf } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead, useRefresh } from "../parts/query";
import { removeSetting, setSetting, useSettings } from "../parts/settings";
import { plural, StateBadge, When } from "../parts/text";
import { Limits } from "./limits";

interface Breaker {
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
  const found = useSettings<Breaker>("breaker", 3_000);
  const refresh = useRefresh();
  if (found.error) return <Failure error={found.error} />;
  if (!found.settings) return <Loading />;
  if (found.settings.length === 0) return <p class="faint">No breaker has anything to tell: no dependency is declared, and no type failed lately.</p>;
  const worstFirst = [...found.settings].sort((a, b) => Number(a.phase === "closed") - Number(b.phase === "closed"));
  return (
    <ul class="cards" aria-label="Breakers">
      {worstFirst.map((breaker) => (
        <li key={breaker.full} class="card">
          <h2>
            {breaker.full} <StateBadge state={breaker.phase} />
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
                title: `Open ${breaker.full}`,
                what: (
                  <>
                    No job of {breaker.types.join(", ") || "its types"} starts until somebody closes it; what runs goes on, and what waits keeps its attempts.
                    {breaker.types.length === 1 && <Affected of={{ type: breaker.types[0] }} />}
                  </>
                ),
                label: "Open",
                danger: true,
                needsReason: true,
                run: (reason) => setSetting("breaker", breaker.full, { phase: "open" }, reason),
                done: refresh,
              }}
            />
          )}
          {operates && breaker.phase !== "closed" && (
            <ActionButton
              question={{
                title: `Close ${breaker.full}`,
                what: (
                  <>
                    Everything that waits for it may start at once, and its runs are counted from nothing.
                    {breaker.types.length === 1 && <Affected of={{ type: breaker.types[0] }} />}
                  </>
                ),
                label: "Close",
                needsReason: true,
                run: (reason) => removeSetting("breaker", breaker.full, reason),
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
  const found = useRead<{ states: Record<string, number> }>("/v1/jobs/count", { type, states: HELD }, 5_000);
  const total = Object.values(found.data?.states ?? {}).reduce((sum, number) => sum + number, 0);
  return <>{found.data ? `${plural(total, "job")} of ${type} ${total === 1 ? "waits" : "wait"}` : `what waits of ${type}`}</>;
}

function Quarantines({ operates }: { operates: boolean }) {
  const found = useSettings<Quarantined>("quarantine", 3_000);
  const refresh = useRefresh();
  return (
    <section>
      <h2>In quarantine</h2>
      {found.settings?.length === 0 && <p class="faint">No type is in quarantine.</p>}
      <ul class="cards">
        {found.settings?.map((item) => (
          <li key={item.name} class="card">
            <h3>{item.name}</h3>
            <p class="links">
              <Waiting type={item.name} counted />
            </p>
            <p class="faint">{item.attempts === 0 ? "Nothing of it starts." : `Its jobs have ${plural(item.attempts, "attempt")}.`}</p>
            <p>
              {item.why} <span class="faint">since <When at={item.since} />{item.by && ` by ${item.by}`}</span>
            </p>
            {operates && (
              <ActionButton
                question={{
                  title: `Release ${item.name}`,
                  what: (
                    <>
                      Its jobs may start again, and its runs are counted from nothing.
                      <Affected of={{ type: item.name }} />
                    </>
                  ),
                  label: "Release",
                  needsReason: true,
                  run: (reason) => removeSetting("quarantine", item.name, reason),
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
          run: (reason, values) => setSetting("quarantine", type, { attempts: numberOf(values["attempts"]) ?? 0 }, reason),
          done: refresh,
        }}
      />
    </form>
  );
}
