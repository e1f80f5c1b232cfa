import { named, send } from "../api";
import { ActionButton, Empty, Failure, Loading } from "../parts/feedback";
import { AddSchedule, ChangeSchedule, RemoveSchedule } from "./schedule-forms";
import { Link } from "../parts/link";
import { useRead, useRefresh } from "../parts/query";
import { Json, StateBadge, When } from "../parts/text";
import type { FireDocument as Fire, ScheduleDocument as Schedule } from "../types";

export function Schedules({ operates, tenant }: { operates: boolean; tenant: string | null }) {
  const found = useRead<{ schedules: Schedule[] }>("/v1/schedules", { limit: 200 }, 5_000);
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading />;
  return (
    <>
      <h1>Schedules</h1>
      {operates && (
        <div class="actions">
          <AddSchedule tenant={tenant} />
        </div>
      )}
      {found.data.schedules.length === 0 && <Empty>{"No schedules: declare them in code, or add one here or with `fairlead schedules set`."}</Empty>}
      <ul class="cards">
        {found.data.schedules.map((schedule) => (
          <Card key={schedule.name} schedule={schedule} operates={operates} tenant={tenant} />
        ))}
      </ul>
    </>
  );
}

function Card({ schedule, operates, tenant }: { schedule: Schedule; operates: boolean; tenant: string | null }) {
  const [next, ...later] = schedule.next_fires;
  return (
    <li class="card">
      <h2>
        {schedule.name} <StateBadge state={schedule.state} />
      </h2>
      <p>
        <code>{schedule.expression}</code> <span class="faint">{schedule.tz}</span> → <Link to={`/jobs?${new URLSearchParams({ type: schedule.type }).toString()}`}>{schedule.type}</Link>{" "}
        <span class="faint">for the tenant {schedule.tenant}</span>
      </p>
      <p>
        {schedule.state === "active" && next ? (
          <>
            Fires next <When at={next} />
          </>
        ) : (
          <span class="faint">It does not fire while it is {schedule.state}.</span>
        )}
      </p>
      <Fires fires={schedule.fires} />
      {operates && <Actions schedule={schedule} tenant={tenant} />}
      <details>
        <summary>Terms and next fires</summary>
        <p class="faint">
          While one runs: {schedule.overlap}. After an outage: {schedule.catch_up}. {schedule.app === null ? "Made by hand." : `Declared by ${schedule.app}.`}
        </p>
        <ol>
          {[next, ...later].filter(Boolean).map((at) => (
            <li key={at}>{new Date(at as string).toLocaleString()}</li>
          ))}
        </ol>
        <Json value={schedule.payload} label="Payload" />
      </details>
    </li>
  );
}

function Fires({ fires }: { fires: Fire[] }) {
  if (fires.length === 0) return <p class="faint">It has not fired yet.</p>;
  return (
    <ul class="plain" aria-label="Last fires">
      {fires.slice(0, 5).map((fire) => (
        <li key={fire.at + String(fire.manual)}>
          <When at={fire.at} /> <StateBadge state={fire.job_state ?? fire.outcome} />{" "}
          {fire.job_id && <Link to={`/jobs/${fire.job_id}`}>job</Link>}
          {fire.manual && <span class="faint"> by hand</span>}
          {fire.times > 1 && <span class="faint"> {fire.times} times</span>}
        </li>
      ))}
    </ul>
  );
}

function Actions({ schedule, tenant }: { schedule: Schedule; tenant: string | null }) {
  const refresh = useRefresh();
  const act = (action: string) => (reason: string) => send("POST", `${named("/v1/schedules", schedule.name)}/${action}`, { reason });
  return (
    <div class="actions">
      {schedule.state === "active" && (
        <ActionButton
          question={{
            title: `Pause ${schedule.name}`,
            what: "It fires no more until it is resumed, and what falls into the pause is not caught up. Its jobs go on.",
            label: "Pause",
            danger: true,
            needsReason: true,
            run: act("pause"),
            done: refresh,
          }}
        />
      )}
      {schedule.state === "paused" && (
        <ActionButton
          question={{ title: `Resume ${schedule.name}`, what: "It fires again from now on.", label: "Resume", needsReason: true, run: act("resume"), done: refresh }}
        />
      )}
      {schedule.app === null && <ChangeSchedule schedule={schedule} tenant={tenant} />}
      {(schedule.app === null || schedule.state === "retired") && <RemoveSchedule schedule={schedule} />}
      <ActionButton
        question={{
          title: `Run ${schedule.name} now`,
          what: "One job is made at once, whatever its timetable and its state say.",
          label: "Run now",
          needsReason: true,
          run: act("run-now"),
          done: refresh,
        }}
      />
    </div>
  );
}
