import { useState } from "preact/hooks";
import { ActionButton, Failure, Loading, numberOf, type Field, type Values } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRead, useRefresh } from "../parts/query";
import { removeSetting, setSetting, settingPath, useSettings, type Setting } from "../parts/settings";
import { count, shortId, When } from "../parts/text";

interface Fields {
  concurrent: number | null;
  rate: number | null;
  burst: number | null;
  set_by: string;
  running: number;
  tokens: number | null;
  each: boolean;
}

type Limit = Setting<Fields>;

const SCOPES = [
  ["type", "a type"],
  ["tenant", "a tenant"],
  ["pool", "a pool"],
  ["tenant+pool", "a tenant in a pool (tenant+pool)"],
  ["dependency", "a dependency"],
  ["limit", "a limit that handlers declare"],
] as const;

export function Limits({ operates }: { operates: boolean }) {
  return (
    <section>
      <h2>Limits</h2>
      <LimitTable operates={operates} />
      {operates && <NewLimit />}
    </section>
  );
}

// All limits, or those that are wanted; of those, none is not worth a word.
export function LimitTable({ operates, wanted }: { operates: boolean; wanted?: (scope: string, name: string) => boolean }) {
  const found = useSettings<Fields>("limit", 3_000);
  if (found.error) return <Failure error={found.error} />;
  if (!found.settings) return null;
  const limits = wanted ? found.settings.filter((limit) => wanted(limit.scope, limit.name)) : found.settings;
  if (limits.length === 0) return wanted ? null : <p class="faint">Nothing is limited.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Limits">
      <table>
        <thead>
          <tr>
            <th>Limit of</th>
            <th>Running, of how many at once</th>
            <th>Held by</th>
            <th class="number">Starts a second</th>
            <th class="number">Left of the rate</th>
            <th>Set by</th>
            <th>
              <span class="faint">Action</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {limits.map((limit) => (
            <Row key={limit.full} limit={limit} operates={operates} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ limit, operates }: { limit: Limit; operates: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <tr>
      <td class="cut">
        {limit.scope} {limit.name === "*" ? "* (each by itself)" : limit.name}
      </td>
      <td>
        <Use limit={limit} />
      </td>
      <td>
        {limit.name === "*" || (limit.running === 0 && !open) ? (
          <span class="faint">–</span>
        ) : (
          <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>who</summary>
            {open && <Holders limit={limit} />}
          </details>
        )}
      </td>
      <td class="number">{limit.rate ?? "–"}</td>
      <td class="number">{limit.tokens === null ? "–" : limit.tokens.toFixed(1)}</td>
      <td class="cut">{limit.set_by}</td>
      <td class="row-actions">{operates && <Actions limit={limit} />}</td>
    </tr>
  );
}

function Use({ limit }: { limit: Limit }) {
  if (limit.concurrent === null) return <>{count(limit.running)}</>;
  return (
    <span class="usage">
      <meter min={0} max={Math.max(limit.concurrent, 1)} high={Math.max(limit.concurrent, 1) * 0.9} value={limit.running} aria-label="in use" />
      {count(limit.running)} of {count(limit.concurrent)}
      {limit.each && " each"}
    </span>
  );
}

interface Holder {
  id: string;
  tenant: string;
  since: string;
  worker: string | null;
}

// The jobs that run under a limit, those that run longest first.
function Holders({ limit }: { limit: Limit }) {
  const found = useRead<{ holders: Holder[] }>(`${settingPath("limit", limit.full)}/holders`, {}, 3_000);
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading />;
  if (found.data.holders.length === 0) return <p class="faint">Nobody now.</p>;
  return (
    <ol class="plain" aria-label={`Held by, ${limit.scope} ${limit.name}`}>
      {found.data.holders.map((holder) => (
        <li key={holder.id}>
          <Link to={`/jobs/${holder.id}`} class="mono">
            {shortId(holder.id)}
          </Link>{" "}
          of {holder.tenant} <span class="faint">since <When at={holder.since} /></span>
        </li>
      ))}
    </ol>
  );
}

function fieldsOf(limit?: Limit): Field[] {
  return [
    { name: "concurrent", label: "How many may run at once, over all workers", kind: "number", value: limit?.concurrent ?? null, min: 0, hint: "0 stops all. Empty: any number." },
    { name: "rate", label: "How many may start a second", kind: "number", value: limit?.rate ?? null, min: 0, hint: "Empty: any number." },
    { name: "burst", label: "How many may start at once after a quiet time", kind: "number", value: limit?.burst ?? null, min: 1, hint: "Empty: those of one second." },
  ];
}

function valueOf(values: Values) {
  const [concurrent, rate, burst] = [numberOf(values["concurrent"]), numberOf(values["rate"]), numberOf(values["burst"])];
  return { concurrent, rate, burst: rate === null ? null : burst, unlimited: concurrent === null && rate === null };
}

function Actions({ limit }: { limit: Limit }) {
  const refresh = useRefresh();
  return (
    <>
      <ActionButton
        question={{
          title: `Change the limit of ${limit.scope} ${limit.name}`,
          what: `All workers follow within a second. ${count(limit.running)} of its jobs run now; none of them is stopped. Without any number it is unlimited.`,
          label: "Change",
          fields: fieldsOf(limit),
          run: (reason, values) => setSetting("limit", limit.full, valueOf(values), reason, limit.version > 0 ? limit.version : undefined),
          done: refresh,
        }}
      />
      {limit.version > 0 && (
        <ActionButton
          question={{
            title: `Remove the limit of ${limit.scope} ${limit.name}`,
            what: `What a handler declares is in force again, or no limit. ${count(limit.running)} of its jobs run now; more may start at once.`,
            label: "Remove",
            danger: true,
            run: (reason) => removeSetting("limit", limit.full, reason, limit.version),
            done: refresh,
          }}
        />
      )}
    </>
  );
}

export function LimitButton({ scope, name }: { scope: string; name: string }) {
  const refresh = useRefresh();
  return (
    <ActionButton
      question={{
        title: `Limit ${scope} ${name}`,
        what: "It holds over all workers within a second. What runs goes on, what waits keeps its place.",
        label: "Limit its runs",
        fields: fieldsOf(),
        run: (reason, values) => setSetting("limit", `${scope}:${name}`, valueOf(values), reason),
        done: refresh,
      }}
    />
  );
}

function NewLimit() {
  const refresh = useRefresh();
  return (
    <p class="actions">
      <ActionButton
        question={{
          title: "Limit something",
          what: "It holds over all workers within a second. What runs goes on, what waits keeps its place.",
          label: "Limit something",
          fields: [
            { name: "scope", label: "What", kind: "choice", choices: SCOPES, value: "type" },
            { name: "name", label: "Its name", required: true, hint: "* is each of the kind by itself." },
            ...fieldsOf(),
          ],
          run: (reason, values) => setSetting("limit", `${values["scope"]}:${values["name"]?.trim()}`, valueOf(values), reason),
          done: refresh,
        }}
      />
    </p>
  );
}
