import { send, type Query } from "../api";
import { inWords } from "../parts/affected";
import { ActionButton } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead, useRefresh } from "../parts/query";
import { plural } from "../parts/text";
import type { Place } from "../router";

type Chosen = Record<string, string>;

const LIVE = ["scheduled", "ready", "running", "retrying"];
const DELAYED = ["scheduled", "retrying"];
const LIVE_FILTERS = ["type", "tenant", "pool", "priority"];
const DEAD_FILTERS = ["type", "tenant", "pool", "fingerprint", "error_type"];
const PLACES = ["state", "cursor"];
const PRIORITIES = [["critical", "critical"], ["high", "high"], ["default", "default"], ["low", "low"]] as const;

// One action on all that fit; how many that are is counted before anything is done.
export function BulkActions({ place, states }: { place: Place; states: string[] }) {
  const filters = [...place.query.keys()].filter((name) => !PLACES.includes(name));
  if (filters.length === 0 && states.length === 0) return null;
  const only = (names: string[]) => filters.every((name) => names.includes(name));
  const chosen: Chosen = Object.fromEntries(filters.map((name) => [name, place.query.get(name) ?? ""]));
  if (states.length === 1 && states[0] === "dead") return only(DEAD_FILTERS) ? <OnDead filter={chosen} /> : null;
  if (states.some((state) => !LIVE.includes(state)) || !only(LIVE_FILTERS)) return null;
  return <OnLive filter={chosen} states={states} />;
}

function OnLive({ filter, states }: { filter: Chosen; states: string[] }) {
  const counted = useRead<{ states: Record<string, number> }>("/v1/jobs/count", { ...filter, states } as Query, 3_000);
  const refresh = useRefresh();
  const parts = Object.entries(counted.data?.states ?? {});
  const sum = (wanted: string[]) => parts.filter(([state]) => wanted.includes(state)).reduce((total, [, number]) => total + number, 0);
  const total = sum(LIVE);
  const delayed = sum(DELAYED);
  const waiting = sum([...DELAYED, "ready"]);
  const post = (path: string, wanted: string[], more: object = {}) => (reason: string) =>
    send("POST", path, { filter: { ...filter, states: wanted }, reason, ...more });
  const within = (wanted: string[]) => (states.length === 0 ? wanted : states.filter((state) => wanted.includes(state)));
  const told = (verb: string) => (answer: { changed: number }) => `${plural(answer.changed, "job")} ${verb}`;
  if (total === 0) return null;
  return (
    <div class="actions">
      {delayed > 0 && (
        <ActionButton
          question={{
            title: `Run ${plural(delayed, "job")} now`,
            what: `${inWords(parts.filter(([state]) => DELAYED.includes(state)))}. They do not wait for their time or their next attempt.`,
            label: `Run ${plural(delayed, "job")} now`,
            needsReason: true,
            run: post("/v1/jobs/run-now", within(DELAYED)),
            told: told("made ready"),
            done: refresh,
          }}
        />
      )}
      {waiting > 0 && (
        <ActionButton
          question={{
            title: `Change the priority of ${plural(waiting, "job")}`,
            what: `${inWords(parts.filter(([state]) => state !== "running"))}. Those that run are left alone.`,
            label: "Change their priority",
            needsReason: true,
            fields: [{ name: "priority", label: "Priority", kind: "choice", choices: PRIORITIES, value: "high" }],
            run: (reason, values) => post("/v1/jobs/set-priority", within([...DELAYED, "ready"]), { priority: values["priority"] })(reason),
            told: told("changed"),
            done: refresh,
          }}
        />
      )}
      <ActionButton
        question={{
          title: `Cancel ${plural(total, "job")}`,
          what: `${inWords(parts)}. Those that wait end as cancelled; the workers of those that run are asked to stop them.`,
          label: `Cancel ${plural(total, "job")}`,
          danger: true,
          needsReason: true,
          run: post("/v1/jobs/cancel", states),
          told: (answer: { cancelled: number; asked: number }) => `${plural(answer.cancelled, "job")} cancelled, ${plural(answer.asked, "worker's run", "workers' runs")} asked to stop`,
          done: refresh,
        }}
      />
    </div>
  );
}

function OnDead({ filter }: { filter: Chosen }) {
  const counted = useRead<{ count: number }>("/v1/dead-letters/count", filter, 3_000);
  const refresh = useRefresh();
  const total = counted.data?.count ?? 0;
  const act = (action: string) => (reason: string) => send("POST", `/v1/dead-letters/${action}`, { filter, reason });
  const told = (verb: string) => (answer: { done: string[]; refused: unknown[] }) =>
    `${plural(answer.done.length, "job")} ${verb}${answer.refused.length > 0 ? `, ${answer.refused.length} could not be` : ""}`;
  if (total === 0) return null;
  return (
    <div class="actions">
      <ActionButton
        question={{
          title: `Replay ${plural(total, "job")}`,
          what: "They become ready at once, with fresh attempts; at most 10,000 at a time. The page of the dead letters replays them in stages instead.",
          label: `Replay ${plural(total, "job")}`,
          needsReason: true,
          run: act("replay"),
          told: told("replayed"),
          done: refresh,
        }}
      />
      <ActionButton
        question={{
          title: `Cancel ${plural(total, "job")}`,
          what: "They end as cancelled and are kept until their retention is over; at most 10,000 at a time.",
          label: `Cancel ${plural(total, "job")}`,
          danger: true,
          needsReason: true,
          run: act("cancel"),
          told: told("cancelled"),
          done: refresh,
        }}
      />
      <Link to="/dead-letters">By what they died of</Link>
    </div>
  );
}
