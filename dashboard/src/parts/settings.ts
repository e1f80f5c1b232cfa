// Run-time settings of any kind: reading, setting and removing them.

import { named, send } from "../api";
import type { SettingDocument } from "../types";
import { useRead } from "./query";

// The fields of a setting and the figures beside it, with its name in parts: `tenant:acme` is acme of the scope tenant.
export type Setting<Fields> = Fields & { full: string; scope: string; name: string; version: number };

export function useSettings<Fields>(kind: string, every: number | false = 5_000) {
  const found = useRead<{ settings: SettingDocument[] }>(`/v1/settings/${kind}`, {}, every);
  return { error: found.error, settings: found.data?.settings.map((setting) => inParts<Fields>(setting)) };
}

function inParts<Fields>({ name, value, state, version }: SettingDocument): Setting<Fields> {
  const colon = name.indexOf(":");
  const parts = { full: name, scope: colon < 0 ? "" : name.slice(0, colon), name: name.slice(colon + 1), version };
  return { ...(value ?? {}), ...state, ...parts } as Setting<Fields>;
}

export function settingPath(kind: string, name: string): string {
  return named(`/v1/settings/${kind}`, name);
}

export function setSetting(kind: string, name: string, value: object, reason: string, seen?: number): Promise<SettingDocument> {
  return send("PUT", settingPath(kind, name), { value, reason: reason || null }, seen);
}

export function changeSetting(kind: string, name: string, value: object, reason: string, seen?: number): Promise<SettingDocument> {
  return send("PATCH", settingPath(kind, name), { value, reason: reason || null }, seen);
}

export function removeSetting(kind: string, name: string, reason: string, seen?: number): Promise<void> {
  return send("DELETE", settingPath(kind, name), { reason: reason || null }, seen);
}
