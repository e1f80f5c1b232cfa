import { halt, type Replay, type Stage } from "../parts/replay";
import { count, plural } from "../parts/text";

// A staged replay while it goes on, and what came of it.
export function ReplayPanel({ replay, name }: { replay: Replay; name: string }) {
  const sum = (of: (stage: Stage) => number) => replay.stages.reduce((total, stage) => total + of(stage), 0);
  const succeeded = sum((stage) => stage.succeeded);
  const failed = sum((stage) => stage.failed_again + stage.failed_otherwise);
  const live = replay.now?.live ?? 0;
  const ended = (replay.now?.revived ?? 0) - live;
  return (
    <section class="panel why" role="status" aria-label="Replay in stages">
      <h2>{headline(replay)}</h2>
      <Progress total={replay.total} parts={[["bar-succeeded", succeeded], ["bar-failed", failed], ["bar-ended", ended], ["bar-running", live]]} />
      <p>
        {count(succeeded)} succeeded, {count(failed)} failed, {plural(live, "job")} of this stage {replay.outcome === null ? "not ended yet" : "had not ended when it stopped"}
        {replay.total > 0 && `, of ${count(replay.total)}`}.
      </p>
      <ol>
        {replay.stages.map((stage) => (
          <li key={stage.number}>{words(stage)}</li>
        ))}
        {replay.now && (
          <li>
            {plural(replay.now.revived, "job")} brought back, {count(live)} {replay.outcome === null ? "not ended yet" : "not ended then; they run on"}
          </li>
        )}
      </ol>
      {replay.outcome === null && (
        <>
          <p class="warn">
            Keep the dashboard open in this tab. If it is closed, loaded anew or loses its connection, the replay stops before its next stage; what was brought back runs on.
          </p>
          <button type="button" class="danger" onClick={() => halt(name)}>
            Stop before the next stage
          </button>
        </>
      )}
    </section>
  );
}

function headline(replay: Replay): string {
  if (replay.outcome === null) return `Replaying in stages: stage ${replay.now?.number ?? replay.stages.length + 1}`;
  if (replay.outcome.stopped !== null) return `Stopped: ${replay.outcome.stopped}`;
  return `Replayed ${plural(replay.stages.reduce((total, stage) => total + stage.revived, 0), "job")}`;
}

function words(stage: Stage): string {
  const parts = [
    `${plural(stage.revived, "job")} brought back`,
    `${count(stage.succeeded)} succeeded`,
    `${count(stage.failed_again)} failed again`,
    stage.failed_otherwise > 0 && `${count(stage.failed_otherwise)} failed otherwise`,
    stage.unfinished > 0 && `${count(stage.unfinished)} not ended in time`,
    stage.refused > 0 && `${count(stage.refused)} could not be brought back`,
  ];
  return parts.filter(Boolean).join(", ");
}

function Progress({ total, parts }: { total: number; parts: [string, number][] }) {
  const all = Math.max(total, parts.reduce((sum, [, value]) => sum + value, 0), 1);
  let from = 0;
  return (
    <svg class="progress" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      {parts.map(([style, value]) => {
        const width = (value / all) * 100;
        from += width;
        return <rect key={style} class={style} x={from - width} width={width} height={10} />;
      })}
    </svg>
  );
}
