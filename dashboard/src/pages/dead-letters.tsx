import { useEffect, useState } from "preact/hooks";
import { send } from "../api";
import { ActionButton, Empty, Failure, Loading } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead, useRefresh } from "../parts/query";
import { Spark } from "../parts/spark";
import { count, plural, When } from "../parts/text";
import type { Place } from "../router";
import type { DeadGroup, JobPage } from "../types";
import { JobTable } from "./jobs";

interface StagedReport {
  stages: { number: number; revived: number; succeeded: number; failed_again: number; unfinished: number }[];
  revived: number;
  stopped: string | null;
}

export function DeadLetters({ place, operates }: { place: Place; operates: boolean }) {
  const fingerprint = place.query.get("fingerprint");
  const type = place.query.get("type");
  if (fingerprint !== null && type !== null) return <Group fingerprint={fingerprint} type={type} operates={operates} />;
  return <Groups />;
}

function Groups() {
  const found = useRead<{ groups: DeadGroup[] }>("/v1/dead-letters/groups", { limit: 100 }, 5_000);
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading />;
  return (
    <>
      <h1>Dead letters</h1>
      {found.data.groups.length === 0 && <Empty>No dead letters: nothing has run out of attempts.</Empty>}
      <ul class="cards">
        {found.data.groups.map((group) => (
          <li key={`${group.type} ${group.fingerprint}`} class="card">
            <h2>
              <Link to={`/dead-letters?${addressOf(group)}`}>{group.type}</Link> <span class="badge">{count(group.count)}</span>
            </h2>
            <p class="cut-lines">
              <strong>{group.error_type ?? "no error"}</strong> {group.message}
            </p>
            <Spark values={group.trend} label="Died in the last 24 hours" />
            <p class="faint">
              {plural(group.tenants, "tenant")} · first <When at={group.first_at} /> · last{" "}
              <When at={group.last_at} />
            </p>
          </li>
        ))}
      </ul>
    </>
  );
}

function addressOf(group: DeadGroup): string {
  return new URLSearchParams({ fingerprint: group.fingerprint ?? "", type: group.type }).toString();
}

function Group({ fingerprint, type, operates }: { fingerprint: string; type: string; operates: boolean }) {
  const filter = { type, fingerprint };
  const found = useRead<JobPage>("/v1/dead-letters", { ...filter, limit: 50 }, 5_000);
  const groups = useRead<{ groups: DeadGroup[] }>("/v1/dead-letters/groups", filter, 5_000);
  const [replay, setReplay] = useState<Promise<StagedReport> | null>(null);
  const refresh = useRefresh();
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading />;
  const total = groups.data?.groups[0]?.count ?? 0;
  const act = (action: string) => (reason: string) => send(`POST`, `/v1/dead-letters/${action}`, { filter, reason });
  return (
    <>
      <h1>Dead letters of {type}</h1>
      <p>
        <Link to="/dead-letters">All groups</Link>
      </p>
      {operates && total > 0 && (
        <div class="actions">
          <ActionButton
            question={{
              title: `Replay ${plural(total, "job")} in stages`,
              what: "First one, then ten, then growing batches; it stops by itself when they fail again.",
              label: "Replay in stages",
              needsReason: true,
              run: async (reason) => setReplay(send<StagedReport>("POST", "/v1/dead-letters/replay-in-stages", { filter, reason })),
            }}
          />
          <ActionButton
            question={{
              title: `Replay ${plural(total, "job")}`,
              what: "All of them become ready at once, with fresh attempts.",
              label: "Replay all",
              needsReason: true,
              run: act("replay"),
              done: refresh,
            }}
          />
          <ActionButton
            question={{
              title: `Give up ${plural(total, "job")}`,
              what: "They end as cancelled and are kept until their retention is over.",
              label: "Cancel all",
              danger: true,
              needsReason: true,
              run: act("cancel"),
              done: refresh,
            }}
          />
        </div>
      )}
      {replay && <Replay replay={replay} left={total} />}
      {found.data.jobs.length === 0 ? <Empty>This group is empty now.</Empty> : <JobTable jobs={found.data.jobs} />}
    </>
  );
}

// A staged replay goes on while the page shows how many are left; what came of it follows.
function Replay({ replay, left }: { replay: Promise<StagedReport>; left: number }) {
  const [report, setReport] = useState<StagedReport | null>(null);
  const [error, setError] = useState<unknown>(null);
  const refresh = useRefresh();
  useEffect(() => {
    setReport(null);
    setError(null);
    const timer = window.setInterval(refresh, 1_000);
    void replay.then(setReport, setError).finally(() => {
      window.clearInterval(timer);
      refresh();
    });
    return () => window.clearInterval(timer);
  }, [replay]);
  if (error !== null) return <Failure error={error} />;
  if (!report)
    return (
      <section class="panel why" role="status">
        Replaying in stages: {count(left)} still dead. It stops by itself if they fail again.
      </section>
    );
  return (
    <section class="panel why" role="status">
      <h2>{report.stopped ? `Stopped: ${report.stopped}` : `Replayed ${plural(report.revived, "job")}`}</h2>
      <ol>
        {report.stages.map((stage) => (
          <li key={stage.number}>
            {count(stage.revived)} revived, {count(stage.succeeded)} succeeded, {count(stage.failed_again)} failed again
            {stage.unfinished > 0 && `, ${count(stage.unfinished)} not ended yet`}
          </li>
        ))}
      </ol>
    </section>
  );
}
