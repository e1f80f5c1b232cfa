// Replays in stages that this page has begun. They go on while one looks at other pages, and end with the last of them:
// the browser asks before it leaves, and a page that was loaded anew still says how far they had come.

import { useEffect, useState } from "preact/hooks";
import { stream } from "../api";
import { cache } from "./query";

export interface Stage {
  number: number;
  revived: number;
  refused: number;
  succeeded: number;
  failed_again: number;
  failed_otherwise: number;
  unfinished: number;
}

export interface Replay {
  total: number;
  stages: Stage[];
  now: { number: number; revived: number; live: number } | null;
  outcome: { stopped: string | null } | null;
}

export interface Terms {
  filter: { type: string; fingerprint: string };
  limit?: number;
  patience?: number;
  tolerance?: number;
  reason: string;
}

const BEGUN: Replay = { total: 0, stages: [], now: null, outcome: null };
const REFRESH = 2_000; // milliseconds
const KEPT = "fairlead replay ";
const LEFT = "this page was left or loaded anew";
const replays = new Map<string, Replay>();
const stops = new Map<string, AbortController>();
const changed = new EventTarget();
let leaving = false;

window.addEventListener("pagehide", () => (leaving = true));
window.addEventListener("pageshow", () => (leaving = false));

export function keyOf(filter: Terms["filter"]): string {
  return `${filter.type} ${filter.fingerprint}`;
}

export function begin(terms: Terms): void {
  const key = keyOf(terms.filter);
  window.addEventListener("beforeunload", askBeforeLeaving);
  const stop = new AbortController();
  stops.set(key, stop);
  put(key, BEGUN);
  const timer = window.setInterval(() => void cache.invalidateQueries(), REFRESH);
  void stream("/v1/dead-letters/replay-in-stages/stream", terms, stop.signal, (name, document) => follow(key, name, document))
    .then(() => end(key, "the connection ended before it did"))
    .catch((error: unknown) => end(key, stop.signal.aborted ? "by hand" : error instanceof Error ? error.message : String(error)))
    .finally(() => {
      window.clearInterval(timer);
      void cache.invalidateQueries();
    });
}

export function halt(key: string): void {
  stops.get(key)?.abort();
}

export function useReplay(key: string): Replay | undefined {
  const [, look] = useState(0);
  useEffect(() => {
    const again = () => look((times) => times + 1);
    changed.addEventListener("change", again);
    return () => changed.removeEventListener("change", again);
  }, []);
  return replays.get(key) ?? kept(key);
}

function follow(key: string, name: string, document: unknown): void {
  const before = replays.get(key) ?? BEGUN;
  if (name === "begun") put(key, { ...before, total: (document as { total: number }).total });
  if (name === "progress") put(key, { ...before, now: document as Replay["now"] });
  if (name === "stage") put(key, { ...before, now: null, stages: [...before.stages, document as Stage] });
  if (name === "report") end(key, (document as { stopped: string | null }).stopped);
  if (name === "problem") end(key, (document as { detail: string }).detail);
}

function end(key: string, stopped: string | null): void {
  const before = replays.get(key) ?? BEGUN;
  if (before.outcome === null) put(key, { ...before, outcome: { stopped } });
}

// One of this tab that ended with its page, as far as it was known there.
function kept(key: string): Replay | undefined {
  const text = window.sessionStorage.getItem(KEPT + key);
  if (text === null) return undefined;
  const replay = JSON.parse(text) as Replay;
  return replay.outcome === null ? { ...replay, outcome: { stopped: LEFT } } : replay;
}

function askBeforeLeaving(event: BeforeUnloadEvent): void {
  if ([...replays.values()].some((replay) => replay.outcome === null)) event.preventDefault();
}

function put(key: string, replay: Replay): void {
  replays.set(key, replay);
  if (leaving) return; // that the connection ends then is no news
  window.sessionStorage.setItem(KEPT + key, JSON.stringify(replay));
  changed.dispatchEvent(new Event("change"));
}
