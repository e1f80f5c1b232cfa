import { ActionButton, numberOf, type Field } from "../parts/feedback";
import { useRefresh } from "../parts/query";
import { removeSetting, setSetting, useSettings, type Setting } from "../parts/settings";
import { count, duration } from "../parts/text";
import type { SettingDocument } from "../types";
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

function valueOf(values: Record<string, string>) {
  const minimum = numberOf(values["minimum"]);
  return { tier: values["tier"], weight: numberOf(values["weight"]), minimum: minimum === null ? null : minimum / PER_CENT };
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
        run: (reason, values) => setSetting("tenant", values["name"]?.trim() ?? "", valueOf(values), reason, 0),
        told: (made: SettingDocument) => `${made.name} is set up`,
        done: refresh,
      }}
    />
  );
}

export function TenantActions({ tenant }: { tenant: TenantDetail }) {
  const refresh = useRefresh();
  return (
    <div class="actions">
      <ActionButton
        question={{
          title: `Change ${tenant.name}`,
          what: `All workers follow within a second. Its ${count(tenant.waiting)} waiting jobs get their turns by it.`,
          label: "Change tier and weight",
          fields: fieldsOf(tenant),
          run: (reason, values) => setSetting("tenant", tenant.name, valueOf(values), reason, tenant.version),
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
            run: (reason) => removeSetting("tenant", tenant.name, reason, tenant.version),
            done: refresh,
          }}
        />
      )}
    </div>
  );
}

// Bounds of this very tenant; what is in force may come from its tier or from the bound for each tenant.
function useOwn(kind: "depth" | "submission", name: string): Setting<object> | undefined {
  return useSettings<object>(kind, false).settings?.find((rule) => rule.full === `tenant:${name}`);
}

function SetDepth({ tenant }: { tenant: TenantDetail }) {
  const own = useOwn("depth", tenant.name);
  const refresh = useRefresh();
  return (
    <ActionButton
      question={{
        title: `How many jobs of ${tenant.name} may wait`,
        what: `Submissions beyond that are refused with TENANT_QUEUE_FULL. Now ${count(tenant.waiting)} wait; none of them is removed.`,
        label: "Bound its depth",
        fields: [{ name: "waiting", label: "Waiting jobs at most", kind: "number", value: tenant.depth, min: 0, hint: "Empty: no bound of its own." }],
        run: (reason, values) => setOrRemove("depth", tenant.name, own, numberOf(values["waiting"]), (waiting) => ({ waiting }), reason),
        done: refresh,
      }}
    />
  );
}

function SetRate({ tenant }: { tenant: TenantDetail }) {
  const own = useOwn("submission", tenant.name);
  const refresh = useRefresh();
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
        run: (reason, values) => setOrRemove("submission", tenant.name, own, numberOf(values["rate"]), (rate) => ({ rate, burst: numberOf(values["burst"]) }), reason),
        done: refresh,
      }}
    />
  );
}

async function setOrRemove(kind: string, tenant: string, own: Setting<object> | undefined, value: number | null, fields: (value: number) => object, reason: string): Promise<unknown> {
  if (value !== null) return setSetting(kind, `tenant:${tenant}`, fields(value), reason, own?.version);
  return own ? removeSetting(kind, own.full, reason, own.version) : undefined;
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
          setSetting("budget", tenant.name, { ratio: numberOf(values["ratio"]), floor: numberOf(values["floor"]), window: numberOf(values["window"]) }, reason),
        done: refresh,
      }}
    />
  );
}
