import type { ExecSettings } from "../types/settings.ts";

type Choice = Pick<ExecSettings, "security" | "ask">;

/** Security and ask for each value of `tools.exec.mode`. No model reviews commands, so `auto` asks a person. */
const MODES = {
  deny: { security: "deny", ask: "off" },
  allowlist: { security: "allowlist", ask: "off" },
  ask: { security: "allowlist", ask: "on-miss" },
  auto: { security: "allowlist", ask: "on-miss" },
  full: { security: "full", ask: "off" },
} as const satisfies Readonly<Record<string, Choice>>;

export const EXEC_MODES = ["deny", "allowlist", "ask", "auto", "full"] as const;

/** Keys of one scope of the config: either `mode`, or `security` and `ask`. */
interface Section {
  readonly mode?: keyof typeof MODES | undefined;
  readonly security?: Choice["security"] | undefined;
  readonly ask?: Choice["ask"] | undefined;
}

/**
 * The rules for commands without and with a question: an agent's own values, else those of `tools.exec`, else the
 * defaults.
 */
export function execChoice(all: Section, own: Section = {}): Choice {
  const base =
    all.mode === undefined ? ({ security: "allowlist", ask: "on-miss", ...given(all) } as const) : MODES[all.mode];
  return own.mode === undefined ? { ...base, ...given(own) } : MODES[own.mode];
}

/** The values that are set. A key without a value counts as left out. */
const given = ({ security, ask }: Section): Partial<Choice> => ({ ...(security && { security }), ...(ask && { ask }) });

/** Whether a scope uses only one of the two forms. */
export const isOneExecForm = ({ mode, security, ask }: Section): boolean =>
  mode === undefined || (security === undefined && ask === undefined);
