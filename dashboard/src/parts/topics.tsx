// Where to look further, and to do something about it.

import { Link } from "./link";

export interface Topic {
  kind: string;
  name: string | null;
}

const PLACES: Record<string, [string, string]> = {
  workers: ["Workers and pools", "/workers"],
  guards: ["Breakers, quarantines and limits", "/guards"],
  pauses: ["What is paused", "/workers"],
  tenants: ["Which tenant fills the slots", "/tenants"],
  failures: ["Dead letters by what they died of", "/dead-letters"],
  retrying: ["Jobs that failed and are tried again", "/jobs?state=retrying"],
};

export function Topics({ topics }: { topics: Topic[] }) {
  const places = topics.map(placeOf).filter((place) => place !== undefined);
  if (places.length === 0) return null;
  return (
    <p class="links">
      {places.map(([words, to]) => (
        <Link key={words} to={to}>
          {words}
        </Link>
      ))}
    </p>
  );
}

function placeOf(topic: Topic): [string, string] | undefined {
  if (topic.kind !== "pool" || topic.name === null) return PLACES[topic.kind];
  return [`What waits in ${topic.name}`, `/jobs?${new URLSearchParams({ pool: topic.name, state: "ready" }).toString()}`];
}
