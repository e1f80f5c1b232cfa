// Callback endpoints and the tries to reach them, as the API has them.

import { searchOf } from "../api";

export type { CallbackDocument as Endpoint, DeliveryDocument as Delivery } from "../types";

export const EVENTS = ["job.succeeded", "job.dead", "job.cancelled", "job.expired"] as const;

// Where an endpoint is, on these pages and in the API: a name is unique for each tenant, and once more for all.
export function pageOf(endpoint: { name: string; tenant: string | null }): string {
  return `/callbacks/${encodeURIComponent(endpoint.name)}${searchOf({ tenant: endpoint.tenant })}`;
}

export function pathOf(endpoint: { name: string; tenant: string | null }, what = "", query: Record<string, string | null> = {}): string {
  return `/v1/callbacks/${encodeURIComponent(endpoint.name)}${what}${searchOf({ tenant: endpoint.tenant, ...query })}`;
}
