import type { UntrustedSource } from "../../../types/run/untrusted.ts";
import type { ExecSettings } from "../../../types/settings.ts";
import { DEFAULT_AGENT } from "../../../types/ids.ts";
import { own } from "../../../utils/own.ts";
import type { ExecApprovals, ExecLimits } from "./document.ts";
import { compileRow, type CompiledRow } from "./rows.ts";

/** Rules of the approvals document for one agent. */
export interface ExecPolicy extends ExecLimits {
  readonly rows: readonly CompiledRow[];
  /** Reason why the document could not be read, as a sentence. */
  readonly broken?: string;
  /** True when the config switches commands off, whatever the document allows. */
  readonly isOffInConfig?: boolean;
}

export const NO_POLICY: ExecPolicy = { rows: [] };

/** Name of the agent `main` in older files. */
const LEGACY = "default";

/** The agents of the document whose rows and limits count for an agent, in the order of their priority. */
export const blocksFor = (agent: string): readonly string[] => [
  ...new Set([agent, agent === DEFAULT_AGENT ? LEGACY : agent, "*"]),
];

/**
 * The rows and limits of an agent: its own, then those of `*`, then the defaults. Compiles each row, so callers keep
 * the result.
 */
export function execPolicyOf({ defaults, agents }: ExecApprovals, agent: string): ExecPolicy {
  const blocks = blocksFor(agent)
    .map((id) => own(agents, id))
    .filter((block) => block !== undefined);
  const first = <Key extends keyof ExecLimits>(key: Key): ExecLimits[Key] =>
    [...blocks, defaults].find((block) => block[key] !== undefined)?.[key];
  return {
    security: first("security"),
    ask: first("ask"),
    askFallback: first("askFallback"),
    rows: blocks.flatMap(({ allowlist }) => allowlist).map(compileRow),
  };
}

/** The policy when the document cannot be read: a person is asked about every command. */
export const brokenPolicy = (why: string): ExecPolicy => ({ rows: [], ask: "always", broken: why });

const SECURITY = ["deny", "allowlist", "full"] as const;
const ASK = ["always", "on-miss", "off"] as const;

/** The earlier of two values in the list; an unset value does not count. */
const stricter = <T>(order: readonly T[], one: T, other: T | undefined): T =>
  other !== undefined && order.indexOf(other) < order.indexOf(one) ? other : one;

/** Limits of commands after untrusted content: only listed commands run without a question. */
const AFTER_UNTRUSTED = { security: "allowlist", ask: "on-miss" } as const;

/** The settings in a conversation that has read untrusted content from `sources`. Pure. */
export const narrowedAfter = (settings: ExecSettings, sources: readonly UntrustedSource[]): ExecSettings =>
  sources.length === 0 ? settings : narrowed(settings, AFTER_UNTRUSTED);

/** Settings that are at most as permissive as the limits. Pure. */
export function narrowed(settings: ExecSettings, { security, ask, askFallback }: ExecLimits): ExecSettings {
  return {
    ...settings,
    security: stricter(SECURITY, settings.security, security),
    ask: stricter(ASK, settings.ask, ask),
    askFallback: stricter(SECURITY, settings.askFallback ?? "deny", askFallback),
  };
}
