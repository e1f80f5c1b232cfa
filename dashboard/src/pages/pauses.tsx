import { useState } from "preact/hooks";
import { Affected } from "../parts/affected";
import { ActionButton } from "../parts/feedback";
import { useRefresh } from "../parts/query";
import { removeSetting, setSetting, useSettings, type Setting } from "../parts/settings";
import { StateBadge, When } from "../parts/text";

export interface Pause {
  why: string;
  since: string | null;
}

export function Pauses({ operates }: { operates: boolean }) {
  const found = useSettings<Pause>("pause");
  const refresh = useRefresh();
  return (
    <section>
      <h2>Paused</h2>
      {found.settings?.length === 0 && <p class="faint">Nothing is paused.</p>}
      <ul class="cards">
        {found.settings?.map((pause) => (
          <PauseCard key={pause.full} pause={pause} operates={operates} />
        ))}
      </ul>
      {operates && <PauseForm refresh={refresh} />}
    </section>
  );
}

export function PauseCard({ pause, operates }: { pause: Setting<Pause>; operates: boolean }) {
  const refresh = useRefresh();
  return (
    <li class="card">
      <h3>
        {pause.scope} {pause.name} <StateBadge state="paused" />
      </h3>
      <p>
        {pause.why} <span class="faint">since <When at={pause.since} /></span>
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
            run: (reason) => removeSetting("pause", pause.full, reason, pause.version),
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
        run: (reason) => setSetting("pause", `${scope}:${name}`, {}, reason),
        done,
      }}
    />
  );
}
