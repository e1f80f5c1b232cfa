import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "../api";
import { ActionButton, Empty, Failure, Loading } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead, useRefresh } from "../parts/query";
import { count, plural, shortId, StateBadge, When } from "../parts/text";
import { go, setFilter, type Place } from "../router";
import type { Job, JobPage } from "../types";

const STATES = ["scheduled", "ready", "running", "retrying", "succeeded", "dead", "cancelled", "expired"];
const FILTERS = [
  ["type", "Type"],
  ["tenant", "Tenant"],
  ["pool", "Pool"],
  ["idempotency_key", "Idempotency key"],
  ["error_type", "Error"],
] as const;
const LIVE_FILTERS = ["type", "tenant", "pool", "priority"];
const LIVE = ["scheduled", "ready", "running", "retrying"];
const REST = 200; // milliseconds
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function Jobs({ place, operates }: { place: Place; operates: boolean }) {
  const wanted = Object.fromEntries(place.query.entries());
  const states = place.query.getAll("state");
  const found = useRead<JobPage>("/v1/jobs", { ...wanted, state: states, limit: 50 }, 3_000);
  return (
    <>
      <h1>Jobs</h1>
      <Filters place={place} states={states} />
      {operates && (states.length === 0 || LIVE.includes(states[0] ?? "")) && <CancelAll place={place} states={states} />}
      {found.error ? <Failure error={found.error} /> : !found.data ? <Loading /> : <Listing page={found.data} place={place} />}
    </>
  );
}

function Filters({ place, states }: { place: Place; states: string[] }) {
  const types = useRead<{ types: { name: string }[] }>("/v1/types");
  const change = (name: string, value: string) => setFilter(place.query, "/jobs", name, value);
  return (
    <search>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <FindJob />
        <label>
          State
          <select value={states[0] ?? ""} onChange={(event) => change("state", event.currentTarget.value)}>
            <option value="">any</option>
            {STATES.map((state) => (
              <option key={state}>{state}</option>
            ))}
          </select>
        </label>
        {FILTERS.map(([name, words]) => (
          <Filter key={name} name={name} words={words} value={place.query.get(name) ?? ""} change={change} />
        ))}
        <datalist id="known-type">
          {types.data?.types.map((type) => <option key={type.name} value={type.name} />)}
        </datalist>
      </form>
    </search>
  );
}

// What is typed takes effect by itself, once the fingers rest.
function Filter(props: { name: string; words: string; value: string; change: (name: string, value: string) => void }) {
  const [text, setText] = useState(props.value);
  const timer = useRef<number>();
  useEffect(() => setText(props.value), [props.value]);
  const typed = (value: string) => {
    setText(value);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => props.change(props.name, value.trim()), REST);
  };
  return (
    <label>
      {props.words}
      <input value={text} list={`known-${props.name}`} maxLength={200} onInput={(event) => typed(event.currentTarget.value)} />
    </label>
  );
}

function FindJob() {
  const [text, setText] = useState("");
  const look = (value: string) => {
    setText(value);
    if (ID.test(value.trim())) go(`/jobs/${value.trim()}`);
  };
  return (
    <label class="wide">
      Find by id
      <input value={text} placeholder="paste a job's id" onInput={(event) => look(event.currentTarget.value)} />
    </label>
  );
}

// One action on all that fit; how many that are is counted before anything is done.
function CancelAll({ place, states }: { place: Place; states: string[] }) {
  const filter = Object.fromEntries(LIVE_FILTERS.map((name) => [name, place.query.get(name)]).filter(([, value]) => value));
  const asked = Object.keys(filter).length > 0 || states.length > 0;
  const counted = useRead<{ states: Record<string, number> }>("/v1/jobs/count", { ...filter, state: states }, asked ? 3_000 : false);
  const refresh = useRefresh();
  const unfit = place.query.get("error_type") ?? place.query.get("idempotency_key");
  const parts = Object.entries(counted.data?.states ?? {});
  const total = parts.reduce((sum, [, number]) => sum + number, 0);
  if (!asked || unfit || total === 0) return null;
  return (
    <div class="actions">
      <ActionButton
        question={{
          title: `Cancel ${plural(total, "job")}`,
          what: `${parts.map(([state, number]) => `${count(number)} ${state}`).join(", ")}. Those that wait end as cancelled; the workers of those that run are asked to stop them.`,
          label: `Cancel ${plural(total, "job")}`,
          danger: true,
          needsReason: true,
          run: (reason) => send("POST", "/v1/jobs/cancel", { filter: { ...filter, states }, reason }),
          done: refresh,
        }}
      />
    </div>
  );
}

function Listing({ page, place }: { page: JobPage; place: Place }) {
  if (page.jobs.length === 0) return <Empty>No jobs fit.</Empty>;
  const next = new URLSearchParams(place.query);
  if (page.cursor) next.set("cursor", page.cursor);
  return (
    <>
      <JobTable jobs={page.jobs} />
      {page.cursor && (
        <p class="pager">
          <Link to={`/jobs?${next.toString()}`}>Older jobs</Link>
        </p>
      )}
    </>
  );
}

export function JobTable({ jobs }: { jobs: Job[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Jobs">
      <table>
        <thead>
          <tr>
            <th>Job</th>
            <th>State</th>
            <th>Type</th>
            <th>Tenant</th>
            <th>Pool</th>
            <th>Priority</th>
            <th class="number">Attempt</th>
            <th>Created</th>
            <th>Error</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <tr key={job.id}>
              <td>
                <Link to={`/jobs/${job.id}`} class="mono">
                  {shortId(job.id)}
                </Link>
              </td>
              <td>
                <StateBadge state={job.state} />
              </td>
              <td class="cut">{job.type}</td>
              <td class="cut">{job.tenant}</td>
              <td>{job.pool}</td>
              <td>{job.priority}</td>
              <td class="number">{job.attempt}</td>
              <td>
                <When at={job.created_at} />
              </td>
              <td class="cut">{job.error ? `${job.error.type}: ${job.error.message}` : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
