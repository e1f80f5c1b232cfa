import { useState } from "preact/hooks";
import { Link } from "../parts/link";
import { useRead } from "../parts/query";
import { go, type Place } from "../router";
import type { DeadGroupDocument as DeadGroup } from "../types";

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MOST = 12;
const WORDS: Record<string, string> = { type: "type", tenant: "tenant", pool: "pool", error_type: "error", key_contains: "idempotency key with" };

interface Hit {
  name: string;
  value: string;
}

// One box for everything: a job's id opens it; any other words find the types, tenants, pools and errors that have them.
export function Search({ place }: { place: Place }) {
  const [text, setText] = useState("");
  const word = text.trim().toLowerCase();
  const known = useKnown();
  const hits = word ? found(known, word, text.trim()) : [];
  const look = (value: string) => {
    setText(value);
    if (ID.test(value.trim())) go(`/jobs/${value.trim()}`);
  };
  const pick = (hit: Hit) => {
    setText("");
    go(addressOf(place, hit));
  };
  const keyed = (event: KeyboardEvent) => {
    const [first] = hits;
    if (event.key === "Escape") setText("");
    if (event.key === "Enter" && first) pick(first);
  };
  return (
    <div class="search">
      <label>
        Search
        <input type="search" value={text} maxLength={200} placeholder="a job's id, a type, a tenant, a pool, an error" autocomplete="off" onInput={(event) => look(event.currentTarget.value)} onKeyDown={keyed} />
      </label>
      {hits.length > 0 && (
        <ul class="hits" aria-label="Found">
          {hits.map((hit) => (
            <li key={`${hit.name} ${hit.value}`} onClick={() => setText("")}>
              <Link to={addressOf(place, hit)}>
                <span class="faint">{WORDS[hit.name]}</span> {hit.value}
              </Link>
            </li>
          ))}
        </ul>
      )}
      {(["type", "tenant", "pool", "error_type"] as const).map((name) => (
        <datalist key={name} id={`known-${name}`}>
          {known.filter((hit) => hit.name === name).slice(0, 500).map((hit) => <option key={hit.value} value={hit.value} />)}
        </datalist>
      ))}
    </div>
  );
}

function useKnown(): Hit[] {
  const types = useRead<{ types: { name: string; pool: string }[] }>("/v1/types");
  const tenants = useRead<{ tenants: { name: string }[] }>("/v1/tenants");
  const groups = useRead<{ groups: DeadGroup[] }>("/v1/dead-letters/groups", { limit: 100 });
  const all = [
    ...(types.data?.types ?? []).flatMap((type) => [{ name: "type", value: type.name }, { name: "pool", value: type.pool }]),
    ...(tenants.data?.tenants ?? []).map((tenant) => ({ name: "tenant", value: tenant.name })),
    ...(groups.data?.groups ?? []).flatMap((group) => (group.error_type ? [{ name: "error_type", value: group.error_type }] : [])),
  ];
  return [...new Map(all.map((hit) => [`${hit.name} ${hit.value}`, hit])).values()];
}

// What begins with the word comes first; names that are not listed here can be meant too.
function found(known: Hit[], word: string, typed: string): Hit[] {
  const place = (hit: Hit) => hit.value.toLowerCase().indexOf(word);
  const fitting = known.filter((hit) => place(hit) >= 0).sort((a, b) => place(a) - place(b));
  const exact = (name: string) => (known.some((hit) => hit.name === name && hit.value === typed) ? [] : [{ name, value: typed }]);
  return [...fitting.slice(0, MOST), ...exact("tenant"), ...exact("key_contains")];
}

function addressOf(place: Place, hit: Hit): string {
  const query = new URLSearchParams(place.query);
  query.delete("cursor");
  query.set(hit.name, hit.value);
  return `/jobs?${query.toString()}`;
}
