import { isDeepStrictEqual } from "node:util";
import { own } from "../../../utils/own.ts";
import { isRecord, valueAt, type KeyPath } from "../schema/problem.ts";
import { hasMask, shownConfig } from "../shown.ts";

/** One changed leaf; undefined removes its key. */
export interface Leaf {
  readonly path: KeyPath;
  readonly value: unknown;
}

/**
 * The changes of a JSON merge patch (RFC 7396) to a config, leaf by leaf. Values that a client was shown and sends back
 * unchanged change nothing, masked ones too. Pure.
 */
export function patchLeaves(config: unknown, patch: Readonly<Record<string, unknown>>): readonly Leaf[] {
  const leaves = leavesOf(patch, []).filter(({ path, value }) => isChange(config, path, value));
  // null removes a key.
  return leaves.map(({ path, value }) => ({ path, value: value ?? undefined }));
}

/** Whether a client changed the value; masked values and empty objects that it was shown are unchanged. */
function isChange(config: unknown, path: KeyPath, value: unknown): boolean {
  const before = valueAt(config, path);
  if (isRecord(value) && (path.length === 0 || isRecord(before))) return false;
  return !hasMask(value) || JSON.stringify(shownConfig(before, path)) !== JSON.stringify(value);
}

function leavesOf(value: unknown, path: KeyPath): readonly Leaf[] {
  if (!isRecord(value) || Object.keys(value).length === 0) return [{ path, value }];
  return Object.entries(value).flatMap(([key, child]) => leavesOf(child, [...path, key]));
}

/**
 * The changes of a whole new config to the config that clients are shown; keys that the new one leaves out are removed.
 * Pure.
 */
export function wholeLeaves(config: unknown, next: Readonly<Record<string, unknown>>): readonly Leaf[] {
  return leavesBetween(shownConfig(config), next);
}

/**
 * The changes from one value to another, leaf by leaf. A list that does not become shorter is changed item by item, so
 * that the comments in it stay. Pure.
 */
export function leavesBetween(before: unknown, after: unknown, path: KeyPath = []): readonly Leaf[] {
  if (isRecord(before) && isRecord(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) => leavesBetween(own(before, name), own(after, name), [...path, name]));
  }
  if (Array.isArray(before) && Array.isArray(after) && after.length >= before.length)
    return after.flatMap((item: unknown, at) => leavesBetween(before[at], item, [...path, at]));
  return isDeepStrictEqual(before, after) ? [] : [{ path, value: after }];
}
