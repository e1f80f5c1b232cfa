// How many jobs an action would touch, counted while it is being asked for.

import type { Query } from "../api";
import { useRead } from "./query";
import { count } from "./text";

export function Affected({ of, none = "No job waits for it now." }: { of: Query; none?: string }) {
  const counted = useRead<{ states: Record<string, number> }>("/v1/jobs/count", of, 2_000);
  if (!counted.data) return null;
  const parts = Object.entries(counted.data.states).filter(([, number]) => number > 0);
  return <p>{parts.length === 0 ? none : `It touches ${inWords(parts)}.`}</p>;
}

export function inWords(parts: [string, number][]): string {
  return parts.map(([state, number]) => `${count(number)} ${state}`).join(", ");
}
