import { useState } from "preact/hooks";
import { send } from "../api";
import { Affected } from "../parts/affected";
import { ActionButton } from "../parts/feedback";
import { useRead, useRefresh } from "../parts/query";
import { StateBadge, When } from "../parts/text";

export interface Pause {
  scope: string;
  name: string;
  reason: string;
  since: string;
}

export function Pauses({ operates }: { operates: boolean }) {
  const found = useRead<{ pauses: Pause[] }>("/v1/pauses", {}, 5_000);
  const refresh = useRefresh();
  return (
    <section>
      <h2>Paused</h2>
      {found.data?.pauses.length === 0 && <p class="faint">Nothing is paused.</p>}
      <ul class="cards">
        {found.data?.pauses.map((pause) => (
          <PauseCard key={`${pause.scope} ${pause.name}`} pause={pause} operates={operates} />
        ))}
      </ul>
      {operates && <PauseForm refresh={refresh} />}
    </section>
  );
}

export function PauseCard({ pause, operates }: { pause: Pause; operates: boolean }) {
  const refresh = useRefresh();
  return (
    <li class="card">
      <h3>
        {pause.scope} {pause.name} <StateBadge state="paused" />
      </h3>
      <p>
        {pause.reason} <span class="faint">since <When at={pause.since} /></span>
      </p>
      {operates && (
        <ActionButton
          question={{
            title: `Resume ${pause.scope} ${pause.name}`,
            what: (
              <>
                What waits may start again.
                <Affected of={{ [pause.scope]: pause.name }} />
              </>
            ),
            label: "Resume",
            needsReason: true,
            run: (reason) => send("POST", "/v1/pauses/resume", { scope: pause.scope, name: pause.name, reason }),
            done: refresh,
          }}
        />
      )}
    </li>
  );
}

function PauseForm({ refresh }: { refresh: () => void }) {
  const [scope, setScope] = useState("type");
  const [name, setName] = useState("");
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        Pause
        <select value={scope} onChange={(event) => setScope(event.currentTarget.value)}>
          <option>type</option>
          <option>tenant</option>
          <option>pool</option>
        </select>
      </label>
      <label>
        Name
        <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <PauseButton scope={scope} name={name.trim()} done={refresh} />
    </form>
  );
}

export function PauseButton({ scope, name, done }: { scope: string; name: string; done: () => void }) {
  return (
    <ActionButton
      disabled={!name}
      question={{
        title: `Pause ${scope} ${name}`,
        what: (
          <>
            Nothing of it starts until it is resumed; what runs goes on, and nothing is lost.
            <Affected of={{ [scope]: name }} />
          </>
        ),
        label: "Pause",
        danger: true,
        needsReason: true,
        run: (reason) => send("POST", "/v1/pauses", { scope, name, reason }),
        done,
      }}
    />
  );
}
