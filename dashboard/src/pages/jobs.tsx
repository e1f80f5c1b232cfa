import { Empty, Failure, Loading } from "../parts/feedback";
import { Filter } from "../parts/filter";
import { Link } from "../parts/link";
import { useRead } from "../parts/query";
import { go, setFilter, type Place } from "../router";
import type { JobPage } from "../types";
import { BulkActions } from "./jobs-bulk";
import { Search } from "./jobs-search";
import { JobTable } from "./jobs-table";

const STATES = ["scheduled", "ready", "running", "retrying", "succeeded", "dead", "cancelled", "expired"];
const FILTERS = [
  ["type", "Type"],
  ["tenant", "Tenant"],
  ["pool", "Pool"],
  ["key_contains", "Idempotency key with"],
  ["error_type", "Error"],
] as const;
const PRIORITIES = ["critical", "high", "default", "low"];
const MINUTE = 60_000; // milliseconds
const ENDED = [
  ["15", "15 minutes"],
  ["60", "hour"],
  ["1440", "day"],
  ["10080", "week"],
] as const;

export function Jobs({ place, operates }: { place: Place; operates: boolean }) {
  const { ended, ...wanted } = Object.fromEntries(place.query.entries());
  const states = place.query.getAll("state");
  const since = ended && /^\d{1,6}$/.test(ended) ? { finished_after: minutesAgo(Number(ended)) } : {};
  const found = useRead<JobPage>("/v1/jobs", { ...wanted, ...since, state: null, states, limit: 50 }, 3_000);
  return (
    <>
      <h1>Jobs</h1>
      <Filters place={place} states={states} />
      {operates && <BulkActions place={place} states={states} />}
      {found.error ? <Failure error={found.error} /> : !found.data ? <Loading /> : <Listing page={found.data} place={place} />}
    </>
  );
}

// Whole minutes, so that the same question is asked again and its answer is kept.
function minutesAgo(minutes: number): string {
  return new Date((Math.floor(Date.now() / MINUTE) - minutes) * MINUTE).toISOString();
}

function Filters({ place, states }: { place: Place; states: string[] }) {
  const change = (name: string, value: string) => setFilter(place.query, "/jobs", name, value);
  return (
    <search>
      <Search place={place} />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        {FILTERS.map(([name, words]) => (
          <Filter key={name} name={name} words={words} value={place.query.get(name) ?? ""} change={change} />
        ))}
        <Choice name="priority" words="Priority" place={place} choices={PRIORITIES.map((word) => [word, word])} />
        <Choice name="ended" words="Ended within the last" place={place} choices={ENDED} />
      </form>
      <States place={place} states={states} />
    </search>
  );
}

function Choice({ name, words, place, choices }: { name: string; words: string; place: Place; choices: readonly (readonly [string, string])[] }) {
  return (
    <label>
      {words}
      <select value={place.query.get(name) ?? ""} onChange={(event) => setFilter(place.query, "/jobs", name, event.currentTarget.value)}>
        <option value="">any</option>
        {choices.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

// Each state is a switch; none that is on means all.
function States({ place, states }: { place: Place; states: string[] }) {
  const toggle = (state: string) => {
    const changed = new URLSearchParams(place.query);
    changed.delete("state");
    changed.delete("cursor");
    const now = states.includes(state) ? states.filter((one) => one !== state) : [...states, state];
    now.forEach((one) => changed.append("state", one));
    go(`/jobs?${changed.toString()}`, true);
  };
  return (
    <div class="chips" role="group" aria-label="States">
      {STATES.map((state) => (
        <button key={state} type="button" class={`chip state-${state}`} aria-pressed={states.includes(state)} onClick={() => toggle(state)}>
          {state}
        </button>
      ))}
      {place.query.size > 0 && (
        <button type="button" class="quiet" onClick={() => go("/jobs", true)}>
          Clear all filters
        </button>
      )}
    </div>
  );
}

function Listing({ page, place }: { page: JobPage; place: Place }) {
  if (page.jobs.length === 0 && !page.cursor) return <Empty>No jobs fit.</Empty>;
  const next = new URLSearchParams(place.query);
  if (page.cursor) next.set("cursor", page.cursor);
  const first = new URLSearchParams(place.query);
  first.delete("cursor");
  return (
    <>
      {page.jobs.length > 0 ? <JobTable jobs={page.jobs} /> : <Empty>No jobs fit among the newest; the search goes on with older ones.</Empty>}
      <p class="pager">
        {place.query.has("cursor") && <Link to={`/jobs?${first.toString()}`}>Newest jobs</Link>}
        {page.cursor && <Link to={`/jobs?${next.toString()}`}>Older jobs</Link>}
      </p>
    </>
  );
}
