import { named, searchOf, send } from "../api";
import { ActionButton, numberOf, textOf, type Field } from "../parts/feedback";
import { useRead, useRefresh } from "../parts/query";
import { count, duration } from "../parts/text";
import { LimitButton } from "./limits";
import { PauseButton } from "./pauses";
import { TIERS, type TenantDetail } from "./tenant-types";

const PER_CENT = 100;

function fieldsOf(tenant?: TenantDetail): Field[] {
  return [
    { name: "tier", label: "Tier", kind: "choice", choices: TIERS, value: tenant?.tier ?? "standard" },
    { name: "weight", label: "Weight", kind: "number", value: tenant?.weight ?? null, min: 0, hint: "Empty: its tier's. A tenant of weight 2 gets twice the time of one of weight 1." },
    { name: "minimum", label: "Guaranteed percent of each pool", kind: "number", value: tenant?.minimum == null ? null : tenant.minimum * PER_CENT, min: 0, max: 100, hint: "Empty: its tier's." },
  ];
}

function bodyOf(values: Record<string, string>, reason: string) {
  const minimum = numberOf(values["minimum"]);
  return { tier: values["tier"], weight: numberOf(values["weight"]), minimum: minimum === null ? null : minimum / PER_CENT, reason: reason || null };
}

export function NewTenant() {
  const refresh = useRefresh();
  return (
    <ActionButton
      question={{
        title: "Set up a tenant",
        what: "Tenants need not be set up; those that are can have another tier and weight than the default.",
        label: "Set up a tenant",
        fields: [{ name: "name", label: "Name", required: true }, ...fieldsOf()],
        run: (reason, values) => send("PUT", named("/v1/tenants", values["name"]?.trim() ?? ""), bodyOf(values, reason), 0),
        told: (made: TenantDetail) => `${made.name} is set up`,
        done: refresh,
      }}
    />
  );
}

export function TenantActions({ tenant }: { tenant: TenantDetail }) {
  const refresh = useRefresh();
  const path = named("/v1/tenants", tenant.name);
  return (
    <div class="actions">
      <ActionButton
        question={{
          title: `Change ${tenant.name}`,
          what: `All workers follow within a second. Its ${count(tenant.waiting)} waiting jobs get their turns by it.`,
          label: "Change tier and weight",
          fields: fieldsOf(tenant),
          run: (reason, values) => send("PUT", path, bodyOf(values, reason), tenant.version),
          done: refresh,
        }}
      />
      <SetDepth tenant={tenant} />
      <SetRate tenant={tenant} />
      <SetBudget tenant={tenant} />
      <LimitButton scope="tenant" name={tenant.name} />
      <PauseButton scope="tenant" name={tenant.name} done={refresh} />
      {tenant.set_up && (
        <ActionButton
          question={{
            title: `Forget what was set for ${tenant.name}`,
            what: `It has the default tier again. Its ${count(tenant.waiting)} waiting jobs and all others stay.`,
            label: "Forget its settings",
            danger: true,
            run: (reason) => send("DELETE", path + searchOf({ reason }), undefined, tenant.version),
            done: refresh,
          }}
        />
      )}
    </div>
  );
}

interface Rule {
  scope: string;
  name: string;
  version: number;
}

// Bounds of this very tenant; what is in force may come from its tier or from the bound for each tenant.
function useOwn(kind: "depths" | "rates", name: string): Rule | undefined {
  const found = useRead<Record<"depths" | "rates", Rule[]>>("/v1/backpressure");
  return found.data?.[kind].find((rule) => rule.scope === "tenant" && rule.name === name);
}

function SetDepth({ tenant }: { tenant: TenantDetail }) {
  const own = useOwn("depths", tenant.name);
  const refresh = useRefresh();
  const path = named("/v1/backpressure/depths/tenant", tenant.name);
  return (
    <ActionButton
      question={{
        title: `How many jobs of ${tenant.name} may wait`,
        what: `Submissions beyond that are refused with TENANT_QUEUE_FULL. Now ${count(tenant.waiting)} wait; none of them is removed.`,
        label: "Bound its depth",
        fields: [{ name: "waiting", label: "Waiting jobs at most", kind: "number", value: tenant.depth, min: 0, hint: "Empty: no bound of its own." }],
        run: (reason, values) => setOrRemove(path, own, numberOf(values["waiting"]), (waiting) => ({ waiting }), reason),
        done: refresh,
      }}
    />
  );
}

function SetRate({ tenant }: { tenant: TenantDetail }) {
  const own = useOwn("rates", tenant.name);
  const refresh = useRefresh();
  const path = named("/v1/backpressure/rates/tenant", tenant.name);
  return (
    <ActionButton
      question={{
        title: `How fast ${tenant.name} may submit`,
        what: "Submissions beyond that are refused with TENANT_RATE_LIMIT_EXCEEDED and told when to come again.",
        label: "Bound its rate",
        fields: [
          { name: "rate", label: "Jobs a second", kind: "number", value: tenant.submission_rate?.rate ?? null, min: 0, hint: "Empty: no bound of its own." },
          { name: "burst", label: "Jobs at once after a quiet time", kind: "number", value: tenant.submission_rate?.burst ?? null, min: 1, hint: "Empty: those of one second." },
        ],
        run: (reason, values) => setOrRemove(path, own, numberOf(values["rate"]), (rate) => ({ rate, burst: numberOf(values["burst"]) }), reason),
        done: refresh,
      }}
    />
  );
}

async function setOrRemove(path: string, own: Rule | undefined, value: number | null, body: (value: number) => object, reason: string): Promise<unknown> {
  if (value !== null) return send("PUT", path, { ...body(value), reason: reason || null }, own?.version);
  return own ? send("DELETE", path + searchOf({ reason }), undefined, own.version) : undefined;
}

function SetBudget({ tenant }: { tenant: TenantDetail }) {
  const refresh = useRefresh();
  const { ratio, floor, window } = tenant.retry_budget;
  return (
    <ActionButton
      question={{
        title: `How many retries ${tenant.name} may have`,
        what: `Retries beyond that are delayed, not lost. Now ${ratio === null ? "all its retries may go" : `${ratio} for each first attempt, and ${count(floor)} more, within ${duration(window)}`}.`,
        label: "Set its retry budget",
        fields: [
          { name: "ratio", label: "Retries for each first attempt", kind: "number", value: ratio, min: 0, hint: "Empty: no limit." },
          { name: "floor", label: "And so many more", kind: "number", value: floor, min: 1, required: true },
          { name: "window", label: "Within so many seconds", kind: "number", value: window, min: 1, max: 86_400, required: true },
        ],
        run: (reason, values) =>
          send("PUT", named("/v1/retry-budgets", tenant.name), {
            ratio: numberOf(values["ratio"]),
            floor: numberOf(values["floor"]),
            window: numberOf(values["window"]),
            reason: textOf(reason),
          }),
        done: refresh,
      }}
    />
  );
}
