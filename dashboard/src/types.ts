// The documents of the API that the pages show.

export type State =
  | "scheduled" | "ready" | "running" | "retrying" | "succeeded" | "dead" | "cancelled" | "expired";

export interface ErrorDocument {
  type: string;
  message: string;
  failure: string | null;
  fingerprint: string | null;
  traceback: string | null;
}

export interface Job {
  id: string;
  type: string;
  tenant: string;
  pool: string;
  priority: string;
  version: number;
  state: State;
  payload: unknown;
  attempt: number;
  crashes: number;
  created_at: string;
  run_at: string;
  not_after: string | null;
  started_at: string | null;
  finished_at: string | null;
  worker: string | null;
  result: unknown;
  error: ErrorDocument | null;
  idempotency_key: string | null;
  callback: string | null;
  parent: string | null;
  replays: number;
  progress: Progress | null;
}

// How far the last run has come, as its handler said; without a total `done` is the fraction.
export interface Progress {
  fraction: number;
  done: number;
  total: number | null;
  message: string;
  at: string;
}

// Percentiles in seconds of so many durations.
export interface Spread {
  count: number;
  p50: number;
  p95: number;
  p99: number;
}

export interface Attempt {
  attempt: number;
  fence: number;
  worker: string | null;
  started_at: string | null;
  ended_at: string;
  ending: string;
  error: ErrorDocument | null;
}

export interface Moment {
  at: string;
  what: string;
  state: State | null;
  attempt: number | null;
  worker: string | null;
  took: number | null;
  by: string | null;
  note: string | null;
  error: ErrorDocument | null;
}

export interface JobDetail extends Job {
  attempts_allowed: number | null;
  timeout: number | null;
  attempts: Attempt[];
  timeline: Moment[];
}

export interface JobPage {
  jobs: Job[];
  cursor: string | null;
}

export interface Explanation {
  state: State;
  summary: string;
  reasons: { code: string; words: string }[];
  estimated_start: string | null;
}

export interface Pool {
  pool: string;
  jobs: Partial<Record<State, number>>;
  oldest_ready: number | null;
  workers: number;
  slots: number;
  running: number;
}

export interface DeadGroup {
  fingerprint: string | null;
  type: string;
  error_type: string | null;
  message: string;
  sample: string;
  count: number;
  tenants: number;
  first_at: string;
  last_at: string;
  trend: number[]; // how many died in each of the last 24 hours, oldest first
}

export interface Session {
  name: string;
  tenant: string | null;
  scopes: string[];
}
