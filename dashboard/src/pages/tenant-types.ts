// Tenants as the API has them.

export interface Tenant {
  name: string;
  tier: string;
  weight: number | null;
  minimum: number | null;
  set_up: boolean;
  waiting: number;
  version: number;
}

export interface TenantDetail extends Tenant {
  effective_weight: number;
  effective_minimum: number;
  effective_most: number;
  depth: number | null;
  submission_rate: { rate: number; burst: number } | null;
  retry_budget: { ratio: number | null; floor: number; window: number };
  ledger: { minute: string; pool: string; entitled: number; delivered: number; waiting: number }[];
}

export interface Share {
  pool: string;
  tenant: string;
  entitled: number;
  delivered: number;
  reserved: number;
  waiting: number;
}

export const TIERS = [
  ["free", "free"],
  ["standard", "standard"],
  ["pro", "pro"],
  ["enterprise", "enterprise"],
] as const;

export interface Tiers {
  default: string;
  tiers: { name: string; weight: number; minimum: number; most: number; together: boolean }[];
}
