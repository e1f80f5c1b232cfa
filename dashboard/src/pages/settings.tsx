import { ActionButton, Failure, Loading, numberOf, type Values } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead, useRefresh } from "../parts/query";
import { removeSetting, setSetting, useSettings, type Setting } from "../parts/settings";
import { count, duration, percent } from "../parts/text";
import { Budgets } from "./budgets";
import { Keys } from "./keys";
import type { RefusedCount, StatusDocument } from "../types";
import { TIERS, type Tiers } from "./tenant-types";

interface Bound {
  waiting?: number; // of a bound on depth
  rate?: number; // of a bound on the rate
  burst?: number;
}

type Rule = Setting<Bound> & { kind: "depth" | "submission" };

interface OverloadFields {
  waiting: number;
  action: string;
  below: string;
  delay: number;
}

type Overload = Setting<OverloadFields>;

const ACTIONS = [
  ["reject", "reject: they are refused"],
  ["defer", "defer: they are put off"],
  ["shed", "shed: they are dropped"],
] as const;
const BELOW = [["critical", "critical"], ["high", "high"], ["default", "default"], ["low", "low"]] as const;
const WHOM = [["tenant", "a tenant"], ["tier", "each tenant of a tier"]] as const;
const SHOWN = 50;

export function Settings({ operates, keys }: { operates: boolean; keys: boolean }) {
  const depths = useSettings<Bound>("depth");
  const rates = useSettings<Bound>("submission");
  const overload = useSettings<OverloadFields>("overload");
  const status = useRead<StatusDocument>("/v1/status", {}, 5_000);
  const error = depths.error ?? rates.error ?? overload.error ?? status.error;
  if (error) return <Failure error={error} />;
  if (!depths.settings || !rates.settings || !overload.settings || !status.data) return <Loading />;
  const rules: Rule[] = [
    ...depths.settings.map((rule) => ({ ...rule, kind: "depth" as const })),
    ...rates.settings.map((rule) => ({ ...rule, kind: "submission" as const })),
  ];
  return (
    <>
      <h1>Settings and keys</h1>
      <OverloadPolicy policy={overload.settings[0] ?? null} operates={operates} />
      <TierTable operates={operates} />
      <Bounds rules={rules} operates={operates} />
      <Counts counts={status.data.refused} />
      <Budgets operates={operates} />
      {keys && <Keys />}
    </>
  );
}

function OverloadPolicy({ policy, operates }: { policy: Overload | null; operates: boolean }) {
  const refresh = useRefresh();
  const fields = (values: Values) => ({
    waiting: numberOf(values["waiting"]),
    action: values["action"],
    below: values["below"],
    delay: numberOf(values["delay"]),
  });
  return (
    <section class="panel">
      <h2>Overload</h2>
      <p>{policy === null ? "All priorities are taken, however many jobs wait." : wordsOf(policy)}</p>
      {operates && (
        <div class="actions">
          <ActionButton
            question={{
              title: "What becomes of low priorities in an overload",
              what: "It holds for new submissions within a second. Jobs that are there already stay.",
              label: policy === null ? "Set an overload policy" : "Change",
              fields: [
                { name: "waiting", label: "From so many ready jobs on", kind: "number", value: policy?.waiting ?? null, min: 0, required: true },
                { name: "action", label: "New jobs of a lower priority", kind: "choice", choices: ACTIONS, value: policy?.action ?? "reject" },
                { name: "below", label: "Lower than", kind: "choice", choices: BELOW, value: policy?.below ?? "default" },
                { name: "delay", label: "Seconds that deferred jobs are put off", kind: "number", value: policy?.delay ?? 60, min: 0, required: true },
              ],
              run: (reason, values) => setSetting("overload", "policy", fields(values), reason, policy?.version ?? 0),
              done: refresh,
            }}
          />
          {policy && (
            <ActionButton
              question={{
                title: "Remove the overload policy",
                what: "All priorities are taken again, however many jobs wait.",
                label: "Remove",
                danger: true,
                run: (reason) => removeSetting("overload", "policy", reason, policy.version),
                done: refresh,
              }}
            />
          )}
        </div>
      )}
    </section>
  );
}

function wordsOf(policy: Overload): string {
  const becomes = { reject: "refused", defer: `put off by ${duration(policy.delay)}`, shed: "dropped" }[policy.action] ?? policy.action;
  return `From ${count(policy.waiting)} ready jobs on, new jobs of a lower priority than ${policy.below} are ${becomes}.`;
}

function TierTable({ operates }: { operates: boolean }) {
  const found = useRead<Tiers>("/v1/tiers");
  const refresh = useRefresh();
  if (!found.data) return null;
  return (
    <section>
      <h2>Tiers</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Tiers">
        <table>
          <thead>
            <tr>
              <th>Tier</th>
              <th class="number">Weight</th>
              <th class="number">Guaranteed</th>
              <th class="number">At most</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {found.data.tiers.map((tier) => (
              <tr key={tier.name}>
                <td>{tier.name}</td>
                <td class="number">{tier.weight}</td>
                <td class="number">{percent(tier.minimum)}</td>
                <td class="number">
                  {percent(tier.most)}
                  {tier.together && " together"}
                </td>
                <td>{tier.name === found.data?.default && "of tenants that nobody has set up"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {operates && (
        <p class="actions">
          <ActionButton
            question={{
              title: "The tier of tenants that nobody has set up",
              what: "All workers follow within a second. Tenants that were set up keep theirs.",
              label: "Change the default tier",
              danger: true,
              fields: [{ name: "tier", label: "Tier", kind: "choice", choices: TIERS, value: found.data.default }],
              run: (reason, values) => setSetting("tenant", "*", { tier: values["tier"] }, reason),
              done: refresh,
            }}
          />
        </p>
      )}
    </section>
  );
}

function Bounds({ rules, operates }: { rules: Rule[]; operates: boolean }) {
  return (
    <section>
      <h2>Bounds on submissions</h2>
      {rules.length === 0 && <p class="faint">Tenants may submit as much and as fast as they like.</p>}
      {rules.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Bounds on submissions">
          <table>
            <thead>
              <tr>
                <th>Of</th>
                <th>Bound</th>
                <th>
                  <span class="faint">Action</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rules.map((rule) => (
                <tr key={`${rule.kind} ${rule.full}`}>
                  <td class="cut">{rule.name === "*" ? "each tenant" : rule.scope === "tenant" ? <Link to={`/tenants/${encodeURIComponent(rule.name)}`}>{rule.name}</Link> : `each tenant of tier ${rule.name}`}</td>
                  <td>{rule.kind === "depth" ? `${count(rule.waiting ?? 0)} jobs may wait` : `${rule.rate} jobs a second, ${rule.burst} at once`}</td>
                  <td class="row-actions">{operates && <RemoveBound rule={rule} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {operates && <NewBounds />}
    </section>
  );
}

function RemoveBound({ rule }: { rule: Rule }) {
  const refresh = useRefresh();
  return (
    <ActionButton
      question={{
        title: `Remove the bound of ${rule.scope} ${rule.name}`,
        what: "What is bound for its tier or for each tenant is in force again, or nothing.",
        label: "Remove",
        danger: true,
        run: (reason) => removeSetting(rule.kind, rule.full, reason, rule.version),
        done: refresh,
      }}
    />
  );
}

function NewBounds() {
  const refresh = useRefresh();
  const place = [
    { name: "scope", label: "Whom", kind: "choice", choices: WHOM, value: "tenant" },
    { name: "name", label: "Name", required: true, hint: "Of the tenant or tier; * is each tenant by itself." },
  ] as const;
  const whom = (values: Values) => `${values["scope"]}:${values["name"]?.trim()}`;
  return (
    <p class="actions">
      <ActionButton
        question={{
          title: "Bound how many jobs may wait",
          what: "Submissions beyond that are refused with TENANT_QUEUE_FULL. No job is removed.",
          label: "Bound a depth",
          fields: [...place, { name: "waiting", label: "Waiting jobs at most", kind: "number", min: 0, required: true }],
          run: (reason, values) => setSetting("depth", whom(values), { waiting: numberOf(values["waiting"]) }, reason),
          done: refresh,
        }}
      />
      <ActionButton
        question={{
          title: "Bound how fast jobs may be submitted",
          what: "Submissions beyond that are refused with TENANT_RATE_LIMIT_EXCEEDED and told when to come again.",
          label: "Bound a rate",
          fields: [
            ...place,
            { name: "rate", label: "Jobs a second", kind: "number", min: 0, required: true },
            { name: "burst", label: "Jobs at once after a quiet time", kind: "number", min: 1, hint: "Empty: those of one second." },
          ],
          run: (reason, values) => setSetting("submission", whom(values), { rate: numberOf(values["rate"]), burst: numberOf(values["burst"]) }, reason),
          done: refresh,
        }}
      />
    </p>
  );
}

function Counts({ counts }: { counts: RefusedCount[] }) {
  if (counts.length === 0) return null;
  const most = [...counts].sort((a, b) => b.jobs - a.jobs).slice(0, SHOWN);
  return (
    <section>
      <h2>What was kept out so far</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="What was kept out">
        <table>
          <thead>
            <tr>
              <th>Tenant</th>
              <th>Why</th>
              <th class="number">Jobs</th>
            </tr>
          </thead>
          <tbody>
            {most.map((item) => (
              <tr key={`${item.tenant} ${item.code}`}>
                <td class="cut">
                  <Link to={`/tenants/${encodeURIComponent(item.tenant)}`}>{item.tenant}</Link>
                </td>
                <td>{item.code}</td>
                <td class="number">{count(item.jobs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
