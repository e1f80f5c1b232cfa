import { useState } from "preact/hooks";
import { send } from "../api";
import { Failure } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead, useRefresh } from "../parts/query";
import { Json, shortId } from "../parts/text";
import type { JobDetail } from "../types";

// One of the group, with what is needed to understand it, and to mend it.
export function Sample({ id, operates }: { id: string; operates: boolean }) {
  const found = useRead<JobDetail>(`/v1/jobs/${id}`);
  const job = found.data;
  if (!job || job.id !== id) return null;
  const traceback = [...job.attempts].reverse().find((attempt) => attempt.error?.traceback)?.error?.traceback;
  return (
    <section class="panel">
      <h2>
        One of them: <Link to={`/jobs/${job.id}`} class="mono">{shortId(job.id)}</Link> <span class="faint">of {job.tenant}</span>
      </h2>
      <div class="columns">
        <div>
          <h3>Payload</h3>
          <Json value={job.payload} label="Payload of the sample" />
          {operates && job.state === "dead" && <Mend key={job.id} job={job} />}
        </div>
        <div>
          <h3>Traceback</h3>
          {traceback ? (
            <pre class="code" tabIndex={0} aria-label="Traceback of the sample">
              {traceback}
            </pre>
          ) : (
            <p class="faint">None was kept.</p>
          )}
        </div>
      </div>
    </section>
  );
}

function Mend({ job }: { job: JobDetail }) {
  const [text, setText] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const refresh = useRefresh();
  if (text === null)
    return (
      <p class="actions">
        <button type="button" onClick={() => setText(JSON.stringify(job.payload, null, 2))}>
          Edit its payload
        </button>
      </p>
    );
  const save = async (replay: boolean) => {
    setError(null);
    try {
      const body = { payload: JSON.parse(text) as unknown, reason: "edited on the dashboard" };
      await (replay ? send("POST", `/v1/jobs/${job.id}/replay`, body) : send("PATCH", `/v1/jobs/${job.id}`, body));
      setText(null);
      refresh();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <form class="editor" onSubmit={(event) => event.preventDefault()}>
      <label>
        New payload
        <textarea rows={8} value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      {error !== null && <Failure error={error} />}
      <div class="actions">
        <button type="button" onClick={() => setText(null)}>
          Back
        </button>
        <button type="button" onClick={() => void save(false)}>
          Save, and leave it dead
        </button>
        <button type="button" class="primary" onClick={() => void save(true)}>
          Save and replay it
        </button>
      </div>
    </form>
  );
}
