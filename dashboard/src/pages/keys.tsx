import { useState } from "preact/hooks";
import { searchOf, send } from "../api";
import { ActionButton, Failure, Loading } from "../parts/feedback";
import { useRead, useRefresh } from "../parts/query";
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
              <th>Made</th>
              <th>Last used</th>
              <th>Ends</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {found.data.keys.map((key) => (
              <tr key={key.id}>
                <td class="mono">{key.id}</td>
                <td class="cut">{key.name}</td>
                <td>{key.scopes.join(", ")}</td>
                <td>{key.tenant ?? "all"}</td>
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
                        run: (reason) => send("DELETE", `/v1/keys/${key.id}${searchOf({ reason })}`),
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

function MakeKey({ refresh }: { refresh: () => void }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState("enqueue");
  const [tenant, setTenant] = useState("");
  const [made, setMade] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const make = async (event: Event) => {
    event.preventDefault();
    setError(null);
    try {
      const body = { name: name.trim(), scopes: [scope], tenant: tenant.trim() || null };
      setMade((await send<{ key: string }>("POST", "/v1/keys", body)).key);
      refresh();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <form class="filters" onSubmit={make}>
      <label>
        Name
        <input required value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <label>
        Scope
        <select value={scope} onChange={(event) => setScope(event.currentTarget.value)}>
          {["enqueue", "read", "operate", "admin"].map((word) => (
            <option key={word}>{word}</option>
          ))}
        </select>
      </label>
      <label>
        Tenant
        <input placeholder="all" value={tenant} onInput={(event) => setTenant(event.currentTarget.value)} />
      </label>
      <button type="submit" class="primary">
        Make a key
      </button>
      {error !== null && <Failure error={error} />}
      {made && (
        <p role="status">
          Copy it now, it is not shown again: <code>{made}</code>
        </p>
      )}
    </form>
  );
}
