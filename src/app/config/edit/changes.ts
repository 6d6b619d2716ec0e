import { Secret } from "../../../types/secret.ts";
import { isRecord, showPath, type KeyPath } from "../problem.ts";
import type { Config } from "../schema.ts";
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

/** Keys that are read again for each message or run; all others except `channels` need a restart. */
const LIVE = [
  "messages",
  "session",
  "agents",
  "bindings",
  "broadcast",
  "tools",
  "commands",
  "models",
  "auth",
  "budgets",
  "memory",
  "audio",
  "skills",
  "plugins",
  "retention",
  "hooks",
  "logging.level",
  "logging.consoleLevel",
];

/** The differences between two configs. Secrets are compared and never shown. */
export function compareConfigs(before: Config, after: Config): ConfigChanges {
  const paths = differences(before, after, []);
  const changed = paths.map(showPath);
  const live = changed.filter(isLive);
  const channels = paths
    .filter((path) => path[0] === "channels")
    .flatMap((path) => (path[1] === undefined ? [] : String(path[1])));
  const restart = changed.filter((key) => !isLive(key) && !/^channels\b/.test(key));
  return { changed, live, channels: [...new Set(channels)], restart };
}

const isLive = (key: string): boolean => LIVE.some((prefix) => key === prefix || key.startsWith(`${prefix}.`));

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
