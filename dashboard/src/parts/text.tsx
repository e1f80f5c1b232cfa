// Small pieces of text. Everything a job carries is shown as text, never as markup.

import type { State } from "../types";

export function StateBadge({ state }: { state: State | string }) {
  return <span class={`badge state-${state}`}>{state}</span>;
}

export function When({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="faint">–</span>;
  return (
    <time dateTime={at} title={at}>
      {ago(at)}
    </time>
  );
}

export function ago(at: string, now = Date.now()): string {
  const seconds = (now - Date.parse(at)) / 1000;
  if (Math.abs(seconds) < 1) return "just now";
  return seconds >= 0 ? `${duration(seconds)} ago` : `in ${duration(-seconds)}`;
}

export function duration(seconds: number): string {
  if (seconds < 0.00005) return "0 ms";
  if (seconds < 0.01) return `${Number((seconds * 1000).toFixed(1))} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${Number(seconds.toFixed(seconds < 10 ? 1 : 0))} s`;
  if (seconds < 3600) return twoOf(Math.floor(seconds / 60), "min", Math.floor(seconds % 60), "s");
  if (seconds < 86400) return twoOf(Math.floor(seconds / 3600), "h", Math.floor((seconds % 3600) / 60), "min");
  return twoOf(Math.floor(seconds / 86400), "d", Math.floor((seconds % 86400) / 3600), "h");
}

function twoOf(large: number, unit: string, small: number, smaller: string): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smaller}`;
}

export function count(value: number): string {
  return value.toLocaleString("en-US");
}

export function percent(part: number): string {
  const value = part * 100;
  return `${value > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} %`;
}

export function Json({ value, label }: { value: unknown; label: string }) {
  const text = value === undefined ? "" : JSON.stringify(value, null, 2);
  return (
    <pre class="code" tabIndex={0} aria-label={label}>
      {text}
    </pre>
  );
}

export function shortId(id: string): string {
  return `${id.slice(0, 8)}…${id.slice(-4)}`;
}

// How much of something is in use; most of it is worth a look.
export function Usage({ used, of }: { used: number; of: number }) {
  return (
    <span class="usage">
      <meter min={0} max={Math.max(of, 1)} high={Math.max(of, 1) * 0.9} value={used} aria-label="slots in use" />
      {count(used)} of {count(of)} slots
    </span>
  );
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
