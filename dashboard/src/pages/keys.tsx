import { useState } from "preact/hooks";
import { named, send } from "../api";
import { ActionButton, Failure, Loading, numberOf, textOf, type Values } from "../parts/feedback";
import { useRead, useRefresh } from "../parts/query";
import { Secret } from "../parts/secret";
import { When } from "../parts/text";

interface Key {
  id: string;
  name: string;
  scopes: string[];
  tenant: string | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  rate: number | null;
}

export function Keys() {
  const found = useRead<{ keys: Key[] }>("/v1/keys", { limit: 500 });
  const refresh = useRefresh();
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading />;
  return (
    <section>
      <h2>Keys</h2>
      <MakeKey refresh={refresh} />
      <div class="scroll" tabIndex={0} role="region" aria-label="Keys">
        <table>
          <thead>
            <tr>
              <th>Id</th>
              <th>Name</th>
              <th>Scopes</th>
              <th>Tenant</th>
              <th class="number">Requests a second</th>
              <th>Made</th>
              <th>Last used</th>
              <th>Ends</th>
              <th>
                <span class="faint">Action</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {[...found.data.keys].sort(liveFirst).map((key) => (
              <tr key={key.id} class={key.revoked_at ? "faint" : ""}>
                <td class="mono">{key.id}</td>
                <td class="cut">{key.name}</td>
                <td>{key.scopes.join(", ")}</td>
                <td>{key.tenant ?? "all"}</td>
                <td class="number">{key.rate ?? <span class="faint">usual</span>}</td>
                <td>
                  <When at={key.created_at} />
                </td>
                <td>
                  <When at={key.last_used_at} />
                </td>
                <td>{key.revoked_at ? "revoked" : <When at={key.expires_at} />}</td>
                <td>
                  {!key.revoked_at && (
                    <ActionButton
                      question={{
                        title: `Revoke ${key.name}`,
                        what: "Whoever uses this key is refused within a second. This cannot be undone.",
                        label: "Revoke",
                        danger: true,
                        run: (reason) => send("POST", `${named("/v1/keys", key.id)}/revoke`, { reason: textOf(reason) }),
                        done: refresh,
                      }}
                    />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function liveFirst(a: Key, b: Key): number {
  return Number(a.revoked_at !== null) - Number(b.revoked_at !== null) || Date.parse(b.created_at) - Date.parse(a.created_at);
}

const SCOPES = [
  ["enqueue", "enqueue: submit jobs"],
  ["read", "read: look at everything"],
  ["operate", "operate: change and direct"],
  ["admin", "admin: everything, keys included"],
] as const;
const DAY = 86_400; // seconds

function MakeKey({ refresh }: { refresh: () => void }) {
  const [made, setMade] = useState<string | null>(null);
  const make = async (reason: string, values: Values) => {
    const days = numberOf(values["days"]);
    const body = {
      name: values["name"]?.trim(),
      scopes: [values["scope"]],
      tenant: textOf(values["tenant"]),
      expires_in: days === null ? null : days * DAY,
      rate: numberOf(values["rate"]),
      reason: textOf(reason),
    };
    setMade((await send<{ key: string }>("POST", "/v1/keys", body)).key);
  };
  return (
    <>
      <div class="actions">
        <ActionButton
          question={{
            title: "Make a key",
            what: "Its text is shown once. What is done with it is in the audit under its name.",
            label: "Make a key",
            fields: [
              { name: "name", label: "Name", required: true, hint: "Who or what uses it." },
              { name: "scope", label: "Scope", kind: "choice", choices: SCOPES, value: "enqueue" },
              { name: "tenant", label: "Tenant", hint: "Empty: all tenants. A key of a tenant sees only its own." },
              { name: "days", label: "Days until it ends", kind: "number", min: 0, hint: "Empty: it does not end by itself." },
              { name: "rate", label: "Requests a second", kind: "number", min: 0, hint: "Empty: the server's usual bound. Each server process counts for itself." },
            ],
            run: make,
            done: refresh,
          }}
        />
      </div>
      {made && <Secret text={made} words="The new key." close={() => setMade(null)} />}
    </>
  );
}
