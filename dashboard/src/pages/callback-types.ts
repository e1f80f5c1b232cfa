// Callback endpoints and the tries to reach them, as the API has them.

import { searchOf } from "../api";

export interface Endpoint {
  name: string;
  tenant: string | null; // null where jobs of all tenants can name it
  url: string;
  events: string[];
  pool: string;
  enabled: boolean;
  why_disabled: string | null;
  secrets: number;
  created_at: string | null;
}

export interface Delivery {
  id: number;
  delivery: string; // its own job
  job: string | null; // the job that it tells of; null for a ping
  message: string;
  event: string;
  attempt: number;
  status: number | null;
  took: number;
  error: string | null;
  at: string | null;
}

export const EVENTS = ["job.succeeded", "job.dead", "job.cancelled", "job.expired"] as const;

// Where an endpoint is, on these pages and in the API: a name is unique for each tenant, and once more for all.
export function pageOf(endpoint: { name: string; tenant: string | null }): string {
  return `/callbacks/${encodeURIComponent(endpoint.name)}${searchOf({ tenant: endpoint.tenant })}`;
}

export function pathOf(endpoint: { name: string; tenant: string | null }, what = "", query: Record<string, string | null> = {}): string {
  return `/v1/callbacks/${encodeURIComponent(endpoint.name)}${what}${searchOf({ tenant: endpoint.tenant, ...query })}`;
}
