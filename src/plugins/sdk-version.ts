import type { FoundPlugin } from "../types/plugin/manifest.ts";

/** The plugin API that this gateway offers, as a calendar version of the field. `compat.pluginApi` is compared with it. */
export const SDK_VERSION = "2026.7.1";

/** Why a plugin needs a newer gateway, as a sentence without its full stop; undefined when it does not. */
export function apiTooOld({ package: { pluginApi } }: Pick<FoundPlugin, "package">): string | undefined {
  const floor = pluginApi === undefined ? undefined : versionFloorOf(pluginApi);
  if (floor === undefined || !isBelow(SDK_VERSION, floor)) return undefined;
  return `it needs plugin API ${floor} or later, and this gateway has ${SDK_VERSION}`;
}

/** The lowest version of a range: `>=2026.5.28 <2026.7.2-0` gives `2026.5.28`. Undefined when the range has no floor. */
function versionFloorOf(range: string): string | undefined {
  return /(?:^|[\s>=^~v])(\d+\.\d+\.\d+)/.exec(range.replaceAll(/<=?\s*v?\d+\.\d+\.\d+\S*/g, ""))?.[1];
}

/** Compares two versions of three numbers; the rest of each version does not count. */
function isBelow(version: string, floor: string): boolean {
  const [a, b] = [numbersOf(version), numbersOf(floor)];
  for (let at = 0; at < 3; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

const numbersOf = (version: string): readonly number[] =>
  version
    .split(/[-+]/, 1)[0]
    ?.split(".")
    .map((part) => Number.parseInt(part, 10) || 0) ?? [];
