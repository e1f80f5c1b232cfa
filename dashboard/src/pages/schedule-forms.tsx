import { named, send } from "../api";
import { ActionButton, textOf, type Field, type Values } from "../parts/feedback";
import { useRead, useRefresh } from "../parts/query";
import { ago } from "../parts/text";
import type { ScheduleDocument as Schedule } from "../types";

const OVERLAPS = [
  ["allow", "allow: both run"],
  ["skip", "skip: it is left out"],
  ["queue_one", "queue one: it waits, unless one waits already"],
] as const;
const CATCH_UPS = [
  ["last", "last: make the last one"],
  ["all", "all: make all of them"],
  ["none", "none: leave them out"],
] as const;
const PRIORITIES = [["critical", "critical"], ["high", "high"], ["default", "default"], ["low", "low"]] as const;

const ZONES: readonly string[] = Intl.supportedValuesOf("timeZone");

interface JobType {
  name: string;
  payload_schema: { properties?: Record<string, { type?: string }>; required?: string[] };
}

// A key that is bound to a tenant has no tenant to choose.
function termsOf(tenant: string | null, schedule?: Schedule): Field[] {
  const terms: Field[] = [
    { name: "expression", label: "When", value: schedule?.expression ?? "", required: true, hint: "Cron with 5 or 6 fields (0 9 * * 1-5), @daily, or every 30s." },
    { name: "tz", label: "Time zone", value: schedule?.tz ?? "UTC", required: true, known: ZONES, hint: "Like Europe/Berlin." },
    { name: "payload", label: "Payload, as JSON", kind: "area", value: JSON.stringify(schedule?.payload ?? {}, null, 2) },
    { name: "tenant", label: "Tenant", value: schedule?.tenant ?? "", hint: schedule ? "" : "Empty: the default tenant." },
    { name: "priority", label: "Priority", kind: "choice", choices: PRIORITIES, value: schedule?.priority ?? "default" },
    { name: "overlap", label: "If its last job still runs", kind: "choice", choices: OVERLAPS, value: schedule?.overlap ?? "allow" },
    { name: "catch_up", label: "What fell into an outage", kind: "choice", choices: CATCH_UPS, value: schedule?.catch_up ?? "last" },
  ];
  return tenant === null ? terms : terms.filter((field) => field.name !== "tenant");
}

function bodyOf(values: Values, reason: string) {
  return {
    expression: values["expression"]?.trim(),
    tz: textOf(values["tz"]),
    payload: JSON.parse(values["payload"] || "{}") as unknown,
    tenant: textOf(values["tenant"]),
    priority: values["priority"],
    overlap: values["overlap"],
    catch_up: values["catch_up"],
    reason: textOf(reason),
  };
}

export function AddSchedule({ tenant }: { tenant: string | null }) {
  const types = useRead<{ types: JobType[] }>("/v1/types");
  const refresh = useRefresh();
  const names = (types.data?.types ?? []).map((type) => [type.name, type.name] as const);
  if (types.data && names.length === 0) return <p class="faint">A schedule can be added once a worker or a server has registered the types of your app.</p>;
  return (
    <ActionButton
      disabled={names.length === 0}
      question={{
        title: "Add a schedule",
        what: "It fires from now on, and makes one job for each of its times.",
        label: "Add a schedule",
        fields: [
          tenant === null
            ? { name: "name", label: "Name", required: true }
            : { name: "name", label: "Name", required: true, value: `${tenant}:`, hint: `It begins with ${tenant}: and has no other colon behind that.` },
          { name: "type", label: "Type of its jobs", kind: "choice", choices: names, value: names[0]?.[0] ?? "" },
          ...termsOf(tenant),
        ],
        previews: {
          tz: (values) => <NextFires expression={values["expression"] ?? ""} tz={values["tz"] ?? ""} />,
          payload: (values) => <Takes type={types.data?.types.find((type) => type.name === values["type"])} />,
        },
        run: async (reason, values) => send("POST", "/v1/schedules", { ...bodyOf(values, reason), name: values["name"]?.trim(), type: values["type"] }),
        told: (made: Schedule) => `${made.name} is added`,
        done: refresh,
      }}
    />
  );
}

export function ChangeSchedule({ schedule, tenant }: { schedule: Schedule; tenant: string | null }) {
  const refresh = useRefresh();
  return (
    <ActionButton
      question={{
        title: `Change ${schedule.name}`,
        what: "From now on; what was due before is made on the old terms. The record of its fires stays.",
        label: "Change",
        fields: termsOf(tenant, schedule),
        previews: { tz: (values) => <NextFires expression={values["expression"] ?? ""} tz={values["tz"] ?? ""} /> },
        run: async (reason, values) => send("PATCH", named("/v1/schedules", schedule.name), bodyOf(values, reason), schedule.version),
        done: refresh,
      }}
    />
  );
}

export function RemoveSchedule({ schedule }: { schedule: Schedule }) {
  const refresh = useRefresh();
  const [next] = schedule.next_fires;
  return (
    <ActionButton
      question={{
        title: `Remove ${schedule.name}`,
        what: `It fires no more${next ? `; it would have fired ${ago(next)}` : ""}. The record of its ${schedule.fires.length} last fires goes with it; its jobs stay. To keep it, pause it instead.`,
        label: "Remove",
        danger: true,
        run: (reason) => send("DELETE", named("/v1/schedules", schedule.name), { reason: textOf(reason) }, schedule.version),
        told: () => `${schedule.name} is removed`,
        done: refresh,
      }}
    />
  );
}

// What the handler of a type takes, so that one need not know it by heart.
function Takes({ type }: { type: JobType | undefined }) {
  const parts = Object.entries(type?.payload_schema.properties ?? {});
  if (!type || parts.length === 0) return null;
  const needed = (name: string) => (type.payload_schema.required?.includes(name) ? "" : ", optional");
  return (
    <p class="hint whole">
      {type.name} takes {parts.map(([name, schema]) => `${name} (${schema.type ?? "any"}${needed(name)})`).join(", ")}.
    </p>
  );
}

function NextFires({ expression, tz }: { expression: string; tz: string }) {
  if (!expression.trim() || !tz.trim()) return null;
  return <Fires expression={expression.trim()} tz={tz.trim()} />;
}

function Fires({ expression, tz }: { expression: string; tz: string }) {
  const found = useRead<{ fires: string[] }>("/v1/fires", { expression, tz, count: 5 });
  const wrong = found.error instanceof Error ? found.error.message : null;
  return (
    <div class="preview whole" aria-live="polite">
      {wrong !== null ? (
        <p class="failure">{wrong}</p>
      ) : found.data?.fires.length === 0 ? (
        <p class="failure">It would never fire.</p>
      ) : (
        <>
          <p>It would fire, in {tz}:</p>
          <ol>
            {found.data?.fires.map((at) => (
              <li key={at}>
                {inZone(at, tz)} <span class="faint">{ago(at)}</span>
              </li>
            ))}
          </ol>
        </>
      )}
    </div>
  );
}

function inZone(at: string, tz: string): string {
  try {
    return new Date(at).toLocaleString("en-GB", { timeZone: tz, dateStyle: "full", timeStyle: "medium" });
  } catch {
    return at;
  }
}
