import { useState } from "preact/hooks";
import { Empty, Failure, Loading } from "../parts/feedback";
import { useRead } from "../parts/query";

interface Entry {
  id: number;
  at: string;
  actor: string;
  action: string;
  target: string;
  details: Record<string, unknown>;
}

export function Audit() {
  const [cursor, setCursor] = useState<number | null>(null);
  const found = useRead<{ entries: Entry[]; cursor: number | null }>("/v1/audit", { limit: 50, cursor });
  const chain = useRead<{ sound: boolean; entries: number }>("/v1/audit/verification");
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading />;
  return (
    <>
      <h1>Audit</h1>
      {chain.data && (
        <p class={chain.data.sound ? "faint" : "failure"}>
          {chain.data.sound
            ? `All ${chain.data.entries} entries are as they were written.`
            : "Entries were changed: run `fairlead audit --verify`."}
        </p>
      )}
      {found.data.entries.length === 0 && <Empty>Nobody has done anything yet.</Empty>}
      <div class="scroll" tabIndex={0} role="region" aria-label="Audit">
        <table>
          <thead>
            <tr>
              <th class="number">Nr</th>
              <th>When</th>
              <th>Who</th>
              <th>What</th>
              <th>Target</th>
              <th>Why</th>
            </tr>
          </thead>
          <tbody>
            {found.data.entries.map((entry) => (
              <tr key={entry.id}>
                <td class="number">{entry.id}</td>
                <td>
                  <time dateTime={entry.at}>{entry.at.replace("T", " ").slice(0, 19)}</time>
                </td>
                <td class="cut">{entry.actor}</td>
                <td>{entry.action}</td>
                <td class="cut">{entry.target}</td>
                <td class="cut">{String(entry.details["reason"] ?? "")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {found.data.cursor !== null && (
        <button type="button" onClick={() => setCursor(found.data?.cursor ?? null)}>
          Older entries
        </button>
      )}
    </>
  );
}
