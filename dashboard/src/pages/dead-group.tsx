import { useState } from "preact/hooks";
import { send } from "../api";
import { ActionButton, Empty, Failure, Loading, numberOf, type Values } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead, useRefresh } from "../parts/query";
import { begin, keyOf, useReplay } from "../parts/replay";
import { Spark } from "../parts/spark";
import { plural, When } from "../parts/text";
import type { DeadGroupDocument as DeadGroup, JobPage } from "../types";
import { ReplayPanel } from "./dead-replay";
import { Sample } from "./dead-sample";
import { JobTable } from "./jobs-table";

interface Refused {
  id: string;
  detail: string;
}

interface Outcome {
  done: string[];
  refused: Refused[];
}

interface Purged {
  removed: number;
  refused: Refused[];
}

const DAY = 86_400; // seconds

export function Group({ fingerprint, type, operates }: { fingerprint: string; type: string; operates: boolean }) {
  const filter = { type, fingerprint };
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const found = useRead<JobPage>("/v1/jobs", { ...filter, states: "dead", limit: 50 }, 5_000);
  const groups = useRead<{ groups: DeadGroup[] }>("/v1/dead-letters/groups", filter, 5_000);
  const replay = useReplay(keyOf(filter));
  if (found.error) return <Failure error={found.error} />;
  if (!found.data || !groups.data) return <Loading />;
  const group = groups.data.groups[0];
  const here = new Set(found.data.jobs.map((job) => job.id));
  const picked = [...chosen].filter((id) => here.has(id));
  const going = replay !== undefined && replay.outcome === null;
  return (
    <>
      <p class="crumb">
        <Link to="/dead-letters">Dead letters</Link>
      </p>
      <h1>Dead letters of {type}</h1>
      {group && <About group={group} />}
      {operates && group && (
        <div class="actions">
          <ReplayInStages filter={filter} total={group.count} disabled={going} />
          <OnAll filter={filter} total={group.count} />
          {picked.length > 0 && <OnChosen ids={picked} clear={() => setChosen(new Set())} />}
        </div>
      )}
      {replay && <ReplayPanel replay={replay} name={keyOf(filter)} />}
      {group && <Sample id={group.sample} operates={operates} />}
      {found.data.jobs.length === 0 ? (
        <Empty>This group is empty now.</Empty>
      ) : (
        <JobTable jobs={found.data.jobs} chosen={operates ? chosen : undefined} choose={setChosen} />
      )}
    </>
  );
}

function About({ group }: { group: DeadGroup }) {
  return (
    <section class="panel">
      <p class="failure cut-lines">
        {group.error_type ?? "no error"}: {group.message}
      </p>
      <p>
        {plural(group.count, "job")} of {plural(group.tenants, "tenant")}, the first <When at={group.first_at} />, the last <When at={group.last_at} />.
      </p>
      <Spark values={group.trend} label="Died in the last 24 hours" />
      <p class="faint">How many died in each of the last 24 hours.</p>
    </section>
  );
}

function ReplayInStages({ filter, total, disabled }: { filter: { type: string; fingerprint: string }; total: number; disabled: boolean }) {
  return (
    <ActionButton
      disabled={disabled}
      question={{
        title: `Replay ${plural(total, "job")} in stages`,
        what: "First one, then ten, then a hundred, then thousands. It stops by itself when they fail again, and by hand at any time. Keep the dashboard open in this tab: the replay ends with it. `fairlead jobs replay --staged` does the same without a browser.",
        label: "Replay in stages",
        needsReason: true,
        fields: [
          { name: "limit", label: "How many at most", kind: "number", value: Math.min(total, 10_000), min: 1, max: 10_000, required: true },
          { name: "tolerance", label: "Percent of a stage that may fail again", kind: "number", value: 10, min: 0, max: 100, required: true, hint: "Of the first two stages none may." },
          { name: "patience", label: "Seconds to wait for a stage", kind: "number", value: 20, min: 1, max: 60, required: true },
        ],
        run: async (reason, values) => begin({ filter, ...termsOf(values), reason }),
      }}
    />
  );
}

function termsOf(values: Values): { limit: number; tolerance: number; patience: number } {
  return {
    limit: numberOf(values["limit"]) ?? 1,
    tolerance: (numberOf(values["tolerance"]) ?? 10) / 100,
    patience: numberOf(values["patience"]) ?? 20,
  };
}

function OnAll({ filter, total }: { filter: { type: string; fingerprint: string }; total: number }) {
  const refresh = useRefresh();
  const act = (action: string) => (reason: string) => send<Outcome>("POST", `/v1/dead-letters/${action}`, { filter, reason });
  return (
    <>
      <ActionButton
        question={{
          title: `Replay ${plural(total, "job")}`,
          what: "All of them become ready at once, with fresh attempts. If the cause is not gone, all of them fail again.",
          label: "Replay all",
          needsReason: true,
          run: act("replay"),
          told: (outcome) => words("replayed", outcome),
          done: refresh,
        }}
      />
      <ActionButton
        question={{
          title: `Cancel ${plural(total, "job")}`,
          what: "They end as cancelled and are kept until their retention is over.",
          label: "Cancel all",
          danger: true,
          needsReason: true,
          run: act("cancel"),
          told: (outcome) => words("cancelled", outcome),
          done: refresh,
        }}
      />
      <ActionButton
        question={{
          title: "Remove old ones for good",
          what: `Of the ${plural(total, "job")} of this group, those that died longer ago than this are removed with their payloads and errors. This cannot be undone.`,
          label: "Remove old ones",
          danger: true,
          needsReason: true,
          previews: { days: (values) => <Old filter={filter} days={numberOf(values["days"]) ?? 0} /> },
          fields: [{ name: "days", label: "Died more than so many days ago", kind: "number", value: 30, min: 0, required: true }],
          run: (reason, values) => send<Purged>("POST", "/v1/dead-letters/purge", { filter, older_than: (numberOf(values["days"]) ?? 0) * DAY, reason }),
          told: (answer: Purged) => `${plural(answer.removed, "job")} removed`,
          done: refresh,
        }}
      />
    </>
  );
}

function Old({ filter, days }: { filter: { type: string; fingerprint: string }; days: number }) {
  const [now] = useState(Date.now);
  const before = new Date(now - Math.min(Math.max(days, 0), 10_000) * DAY * 1000).toISOString();
  const found = useRead<{ count: number }>("/v1/dead-letters/count", { ...filter, finished_before: before });
  return found.data ? <p>{plural(found.data.count, "job")} would be removed.</p> : null;
}

function OnChosen({ ids, clear }: { ids: string[]; clear: () => void }) {
  const refresh = useRefresh();
  const done = () => {
    clear();
    refresh();
  };
  const act = (action: string) => (reason: string) => send<Outcome>("POST", `/v1/dead-letters/${action}`, { ids, reason });
  return (
    <>
      <ActionButton
        question={{
          title: `Replay ${plural(ids.length, "job")}`,
          what: "The chosen ones become ready, with fresh attempts.",
          label: `Replay the ${count(ids)} chosen`,
          needsReason: true,
          run: act("replay"),
          told: (outcome) => words("replayed", outcome),
          done,
        }}
      />
      <ActionButton
        question={{
          title: `Cancel ${plural(ids.length, "job")}`,
          what: "The chosen ones end as cancelled.",
          label: `Cancel the ${count(ids)} chosen`,
          danger: true,
          needsReason: true,
          run: act("cancel"),
          told: (outcome) => words("cancelled", outcome),
          done,
        }}
      />
      <ActionButton
        question={{
          title: `Remove ${plural(ids.length, "job")} for good`,
          what: "The chosen ones are removed with their payloads and errors. This cannot be undone.",
          label: `Remove the ${count(ids)} chosen`,
          danger: true,
          needsReason: true,
          run: (reason) => send<Purged>("POST", "/v1/dead-letters/purge", { ids, reason }),
          told: (answer: Purged) => `${plural(answer.removed, "job")} removed${rest(answer.refused)}`,
          done,
        }}
      />
    </>
  );
}

function count(ids: string[]): string {
  return ids.length === 1 ? "one" : String(ids.length);
}

function words(verb: string, outcome: Outcome): string {
  return `${plural(outcome.done.length, "job")} ${verb}${rest(outcome.refused)}`;
}

function rest(refused: Refused[]): string {
  const [first] = refused;
  return first ? `; ${refused.length} not: ${first.detail}` : "";
}
