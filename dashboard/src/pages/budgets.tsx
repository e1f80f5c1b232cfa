import { ActionButton, numberOf } from "../parts/feedback";
import { Link } from "../parts/link";
import { useRefresh } from "../parts/query";
import { removeSetting, setSetting, useSettings, type Setting } from "../parts/settings";
import { count, duration, StateBadge } from "../parts/text";

interface Fields {
  first_attempts: number;
  retries: number;
  allowed: number | null;
  ratio: number | null;
  floor: number;
  window: number;
  used_up: boolean;
}

type Budget = Setting<Fields>;

export function Budgets({ operates }: { operates: boolean }) {
  const found = useSettings<Fields>("budget");
  if (!found.settings) return null;
  const worstFirst = [...found.settings].sort((a, b) => Number(b.used_up) - Number(a.used_up) || b.retries - a.retries);
  return (
    <section>
      <h2>Retry budgets</h2>
      {worstFirst.length === 0 && <p class="faint">No tenant had retries lately.</p>}
      {worstFirst.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Retry budgets">
          <table>
            <thead>
              <tr>
                <th>Tenant</th>
                <th>State</th>
                <th class="number">First attempts</th>
                <th class="number">Retries</th>
                <th class="number">Allowed</th>
                <th>Budget</th>
                <th>
                  <span class="faint">Action</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {worstFirst.map((budget) => (
                <tr key={budget.full}>
                  <td class="cut">
                    <Link to={`/tenants/${encodeURIComponent(budget.full)}`}>{budget.full}</Link>
                  </td>
                  <td>{budget.used_up ? <StateBadge state="delayed" /> : <span class="faint">within</span>}</td>
                  <td class="number">{count(budget.first_attempts)}</td>
                  <td class="number">{count(budget.retries)}</td>
                  <td class="number">{budget.allowed === null ? "all" : count(Math.floor(budget.allowed))}</td>
                  <td>
                    {budget.ratio === null ? "no limit" : `${budget.ratio} a first attempt + ${count(budget.floor)} in ${duration(budget.window)}`}
                    {budget.version > 0 && <span class="faint"> its own</span>}
                  </td>
                  <td class="row-actions">{operates && <Actions budget={budget} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Actions({ budget }: { budget: Budget }) {
  const refresh = useRefresh();
  return (
    <>
      <ActionButton
        question={{
          title: `How many retries ${budget.full} may have`,
          what: `Retries beyond that are delayed, not lost. It had ${count(budget.retries)} within the window.`,
          label: "Change",
          fields: [
            { name: "ratio", label: "Retries for each first attempt", kind: "number", value: budget.ratio, min: 0, hint: "Empty: no limit." },
            { name: "floor", label: "And so many more", kind: "number", value: budget.floor, min: 1, required: true },
            { name: "window", label: "Within so many seconds", kind: "number", value: budget.window, min: 1, max: 86_400, required: true },
          ],
          run: (reason, values) =>
            setSetting("budget", budget.full, { ratio: numberOf(values["ratio"]), floor: numberOf(values["floor"]), window: numberOf(values["window"]) }, reason, budget.version),
          done: refresh,
        }}
      />
      {budget.version > 0 && (
        <ActionButton
          question={{
            title: `Forget the retry budget of ${budget.full}`,
            what: "The application's budget is in force for it again.",
            label: "Reset",
            danger: true,
            run: (reason) => removeSetting("budget", budget.full, reason, budget.version),
            done: refresh,
          }}
        />
      )}
    </>
  );
}
