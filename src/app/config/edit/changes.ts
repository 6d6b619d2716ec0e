import { Secret } from "../../../types/secret.ts";
import { isRecord, showPath, type KeyPath } from "../schema/problem.ts";
import { isWaiting } from "../keys/schema-keys.ts";
import type { Config } from "../schema/schema.ts";
import { own } from "../../../utils/own.ts";

export interface ConfigChanges {
  /** Every key whose value differs. */
  readonly changed: readonly string[];
  /** Keys whose change applies from the next message. */
  readonly live: readonly string[];
  /** Channels whose adapter is restarted. */
  readonly channels: readonly string[];
  /** Keys whose change needs a restart of the gateway. */
  readonly restart: readonly string[];
}

/** The differences between two configs. Secrets are compared and never shown. */
export function compareConfigs(before: Config, after: Config): ConfigChanges {
  const paths = differences(before, after, []);
  const ofChannels = paths.filter((path) => path[0] === "channels");
  const others = paths.filter((path) => path[0] !== "channels");
  return {
    changed: paths.map(showPath),
    live: others.filter((path) => !isWaiting(path)).map(showPath),
    channels: [...new Set(ofChannels.flatMap((path) => (path[1] === undefined ? [] : String(path[1]))))],
    restart: others.filter(isWaiting).map(showPath),
  };
}

function differences(before: unknown, after: unknown, path: KeyPath): readonly KeyPath[] {
  if (isRecord(before) && isRecord(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) => differences(own(before, key), own(after, key), [...path, key]));
  }
  return isSame(before, after) ? [] : [path];
}

function isSame(before: unknown, after: unknown): boolean {
  if (before instanceof Secret && after instanceof Secret) return before.reveal() === after.reveal();
  if (Array.isArray(before) && Array.isArray(after)) {
    return (
      before.length === after.length && before.every((item, index) => differences(item, after[index], []).length === 0)
    );
  }
  return Object.is(before, after);
}
