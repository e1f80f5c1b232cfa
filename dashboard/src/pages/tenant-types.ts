// Tenants as the API has them.

export type { LedgerLine as Share, TenantDetail, TenantDocument as Tenant, TierList as Tiers } from "../types";

export const TIERS = [
  ["free", "free"],
  ["standard", "standard"],
  ["pro", "pro"],
  ["enterprise", "enterprise"],
] as const;
