import { useEffect, useState } from "preact/hooks";
import { at, send } from "../api";
import { ActionButton, Failure, Loading, textOf } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead, useRefresh } from "../parts/query";
import { count, duration, Json, plural, StateBadge, When } from "../parts/text";
import { go } from "../router";
import type { AttemptDocument as Attempt, ExplanationDocument as Explanation, JobDetail, MomentDocument as Moment, ProgressDocument as Progress } from "../types";

const LIVE = ["scheduled", "ready", "running", "retrying"];
const WAITING = ["scheduled", "ready", "retrying"];

export function JobPage({ id, operates }: { id: string; operates: boolean }) {
  const found = useRead<JobDetail>(`/v1/jobs/${encodeURIComponent(id)}`);
  const refresh = useRefresh();
  const state = found.data?.state;
  const [told, setTold] = useState<Told | null>(null);
  useEffect(() => {
    if (!state || !LIVE.includes(state)) return;
    const events = new EventSource(at(`/v1/jobs/${encodeURIComponent(id)}/events`));
    events.addEventListener("state", refresh);
    events.addEventListener("progress", (event) => setTold(JSON.parse(event.data as string) as Told));
    events.addEventListener("result", () => {
      refresh();
      events.close();
    });
    return () => events.close();
  }, [id, state === undefined || !LIVE.includes(state)]);
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading />;
  return <Detail job={{ ...found.data, progress: newest(found.data, told) }} operates={operates} refresh={refresh} />;
}

interface Told {
  id: string;
  attempt: number;
  progress: Progress;
}

// What was read with the job, or what an event has told of the same run since.
function newest(job: JobDetail, told: Told | null): Progress | null {
  if (!told || told.id !== job.id || told.attempt !== job.attempt) return job.progress;
  return !job.progress || told.progress.at > job.progress.at ? told.progress : job.progress;
}

function Detail({ job, operates, refresh }: { job: JobDetail; operates: boolean; refresh: () => void }) {
  return (
    <>
      <h1>
        <span class="cut">{job.type}</span> <StateBadge state={job.state} />
      </h1>
      <p class="mono faint">{job.id}</p>
      {operates && <Actions job={job} refresh={refresh} />}
      {job.progress && <HowFar progress={job.progress} />}
      {LIVE.includes(job.state) && <Why id={job.id} />}
      <Facts job={job} />
      {job.error && (
        <section class="panel">
          <h2>{job.state === "succeeded" ? "Succeeded, but its result was dropped" : "Error"}</h2>
          <p class="failure">
            {job.error.type}: {job.error.message}
          </p>
          {job.error.failure && <p class="faint">class of failure: {job.error.failure}</p>}
        </section>
      )}
      <Runs job={job} />
      <section class="columns">
        <div class="panel">
          <h2>Payload</h2>
          <Json value={job.payload} label="Payload" />
        </div>
        <div class="panel">
          <h2>Result</h2>
          {job.state === "succeeded" && !job.error ? <Json value={job.result} label="Result" /> : <p class="faint">{LIVE.includes(job.state) ? "None yet." : job.state === "succeeded" ? "It could not be kept." : "None."}</p>}
        </div>
      </section>
      {job.checkpoints.length > 0 && <Checkpoints job={job} />}
      <Timeline job={job} />
    </>
  );
}

function Actions({ job, refresh }: { job: JobDetail; refresh: () => void }) {
  const path = `/v1/jobs/${job.id}`;
  return (
    <div class="actions">
      {LIVE.includes(job.state) && (
        <ActionButton
          question={{
            title: "Cancel this job",
            what: "It will not start; if it runs, its handler is asked to stop. It ends as cancelled.",
            label: "Cancel",
            danger: true,
            run: (reason) => send("POST", `${path}/cancel`, { reason: textOf(reason) }),
            done: refresh,
          }}
        />
      )}
      {["dead", "scheduled", "retrying"].includes(job.state) && (
        <ActionButton
          question={{
            title: job.state === "dead" ? "Replay this job" : "Run this job now",
            what: job.state === "dead" ? "It gets fresh attempts under the same id." : "It does not wait for its time.",
            label: job.state === "dead" ? "Replay" : "Run now",
            run: (reason) => send("POST", `${path}/${job.state === "dead" ? "replay" : "run-now"}`, { reason: textOf(reason) }),
            done: refresh,
          }}
        />
      )}
      {WAITING.includes(job.state) && <ChangePriority job={job} refresh={refresh} />}
      {job.state === "dead" && (
        <ActionButton
          question={{
            title: "Remove this job for good",
            what: "It is removed with its payload and errors. This cannot be undone.",
            label: "Remove",
            danger: true,
            needsReason: true,
            run: (reason) => send("DELETE", `/v1/jobs/${job.id}`, { reason: textOf(reason) }),
            told: () => "Removed",
            done: () => go("/dead-letters"),
          }}
        />
      )}
      {job.state === "dead" && <EditAndReplay job={job} refresh={refresh} />}
    </div>
  );
}

function ChangePriority({ job, refresh }: { job: JobDetail; refresh: () => void }) {
  const [error, setError] = useState<unknown>(null);
  const change = (priority: string) =>
    send("PATCH", `/v1/jobs/${job.id}`, { priority, reason: "changed on the dashboard" }).then(refresh, setError);
  return (
    <label class="inline">
      Priority
      <select value={job.priority} onChange={(event) => void change(event.currentTarget.value)}>
        {["critical", "high", "default", "low"].map((word) => (
          <option key={word}>{word}</option>
        ))}
      </select>
      {error !== null && <Failure error={error} />}
    </label>
  );
}

function EditAndReplay({ job, refresh }: { job: JobDetail; refresh: () => void }) {
  const [text, setText] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  if (text === null)
    return (
      <button type="button" onClick={() => setText(JSON.stringify(job.payload, null, 2))}>
        Edit and replay
      </button>
    );
  const replay = async (event: Event) => {
    event.preventDefault();
    try {
      const payload = JSON.parse(text) as unknown;
      await send("POST", `/v1/jobs/${job.id}/replay`, { payload, reason: "edited on the dashboard" });
      setText(null);
      refresh();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <form class="editor" onSubmit={replay}>
      <label>
        Payload
        <textarea rows={10} value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      {error !== null && <Failure error={error} />}
      <div class="actions">
        <button type="button" onClick={() => setText(null)}>
          Back
        </button>
        <button type="submit" class="primary">
          Replay with this payload
        </button>
      </div>
    </form>
  );
}

function HowFar({ progress }: { progress: Progress }) {
  const percent = `${Math.floor(progress.fraction * 100)} %`;
  const counts = progress.total === null ? "" : `, ${count(progress.done)} of ${count(progress.total)}`;
  return (
    <section class="panel how-far">
      <h2>Progress</h2>
      <progress max={1} value={progress.fraction} aria-label="Progress of the last run" />
      <p>
        <strong>
          {percent}
          {counts}
        </strong>{" "}
        <span class="message">{progress.message}</span>{" "}
        <span class="faint">
          reported <When at={progress.at} />
        </span>
      </p>
    </section>
  );
}

function Why({ id }: { id: string }) {
  const found = useRead<Explanation>(`/v1/jobs/${id}/explain`, {}, 3_000);
  if (!found.data) return null;
  return (
    <section class="panel why">
      <h2>Why it is where it is</h2>
      {found.data.reasons.length < 2 ? (
        <p>{found.data.summary}</p>
      ) : (
        <ul>
          {found.data.reasons.map((reason) => (
            <li key={reason.code}>{reason.words}</li>
          ))}
        </ul>
      )}
      {found.data.estimated_start && (
        <p class="faint">
          Expected to start <When at={found.data.estimated_start} />.
        </p>
      )}
    </section>
  );
}

function Facts({ job }: { job: JobDetail }) {
  const facts: [string, preact.ComponentChildren][] = [
    ["Tenant", <Link to={`/tenants/${encodeURIComponent(job.tenant)}`}>{job.tenant}</Link>],
    ["Pool", job.pool],
    ["Priority", job.priority],
    ["Attempt", `${job.attempt}${job.attempts_allowed ? ` of ${job.attempts_allowed}` : ""}${job.crashes ? `, ${job.crashes} lost workers` : ""}`],
    ["Timeout", job.timeout === null ? "–" : duration(job.timeout)],
    ["Created", <When at={job.created_at} />],
    ["Due", <When at={job.run_at} />],
    ["Started", <When at={job.started_at} />],
    ["Ended", <When at={job.finished_at} />],
    ["Worker", job.worker ?? "–"],
    ["Idempotency key", job.idempotency_key ?? "–"],
    ["Replays", String(job.replays)],
  ];
  if (job.callback) facts.push(["Tells when it ends", <Link to="/callbacks">{job.callback}</Link>]);
  if (job.parent) facts.push(["Parent", <Link to={`/jobs/${job.parent}`}>{job.parent}</Link>]);
  return (
    <dl class="facts panel">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface Run {
  key: number;
  name: string;
  from: number;
  to: number;
  style: string;
  note: string;
}

// The runs as bars on the axis of the job's life.
function Runs({ job }: { job: JobDetail }) {
  const runs = runsOf(job);
  if (runs.length === 0) return null;
  const begin = Date.parse(job.created_at);
  const end = Math.max(...runs.map((run) => run.to), begin + 1);
  const place = (at: number) => ((Math.max(at, begin) - begin) / (end - begin)) * 100;
  return (
    <section class="panel">
      <h2>Runs</h2>
      <ol class="runs">
        {runs.map((run) => (
          <li key={run.key}>
            <strong>{run.name}</strong>
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              <rect class={run.style} x={Math.min(place(run.from), 99.4)} width={Math.max(place(run.to) - place(run.from), 0.6)} height={10} />
            </svg>
            <span class="note">
              {run.note} <span class="faint">{duration((run.to - run.from) / 1000)}</span>
            </span>
          </li>
        ))}
      </ol>
      <p class="faint">From its creation to the end of its last run: {duration((end - begin) / 1000)}.</p>
      {job.attempts.map((attempt) => attempt.error?.traceback && <Traceback key={attempt.fence} attempt={attempt} />)}
    </section>
  );
}

function Traceback({ attempt }: { attempt: Attempt }) {
  return (
    <details>
      <summary>Traceback of attempt {attempt.attempt}</summary>
      <pre class="code" tabIndex={0}>
        {attempt.error?.traceback}
      </pre>
    </details>
  );
}

function runsOf(job: JobDetail): Run[] {
  const runs: Run[] = job.attempts
    .filter((attempt) => attempt.started_at !== null)
    .map((attempt) => ({
      key: attempt.fence,
      name: `Attempt ${attempt.attempt}`,
      from: Date.parse(attempt.started_at as string),
      to: Date.parse(attempt.ended_at),
      style: "bar-failed",
      note: attempt.error ? `${attempt.ending}: ${attempt.error.type}` : attempt.ending,
    }));
  if (job.started_at && (job.state === "running" || job.state === "succeeded")) {
    const to = job.finished_at ? Date.parse(job.finished_at) : Date.now();
    const name = `Attempt ${job.attempt}`;
    const style = job.state === "running" ? "bar-running" : "bar-succeeded";
    runs.push({ key: Infinity, name, from: Date.parse(job.started_at), to, style, note: job.state });
  }
  return runs;
}

function Checkpoints({ job }: { job: JobDetail }) {
  return (
    <section class="panel">
      <h2>Checkpoints</h2>
      <p class="faint">
        A run that resumes this job goes on from the newest one. In this attempt it was resumed {plural(job.checkpoints[0]?.resumptions ?? 0, "time")}.
      </p>
      <ol class="timeline">
        {job.checkpoints.map((checkpoint) => (
          <li key={checkpoint.number}>
            <strong>
              {checkpoint.number} {checkpoint.name}
            </strong>{" "}
            <span class="faint">
              <When at={checkpoint.at} /> · {plural(checkpoint.size, "byte")}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Timeline({ job }: { job: JobDetail }) {
  return (
    <section class="panel">
      <h2>Timeline, in UTC</h2>
      <ol class="timeline">
        {job.timeline.map((moment, at) => (
          <li key={at}>
            <time dateTime={moment.at}>{moment.at.replace("T", " ").slice(0, 23)}</time> <strong>{moment.what}</strong>{" "}
            <span class="faint">{words(moment)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function words(moment: Moment): string {
  const parts = [
    moment.attempt !== null && `attempt ${moment.attempt}`,
    moment.took !== null && `took ${duration(moment.took)}`,
    moment.error && `${moment.error.type}: ${moment.error.message}`,
    moment.by && `by ${moment.by}`,
    moment.note,
    moment.worker && `worker ${moment.worker}`,
  ];
  return parts.filter(Boolean).join(" · ");
}
