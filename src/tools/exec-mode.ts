import type { ExecSettings } from "../types/settings.ts";

type Choice = Pick<ExecSettings, "security" | "ask">;

/** What each value of `tools.exec.mode` means. There is no model that reviews commands, so `auto` asks a person. */
const MODES = {
  deny: { security: "deny", ask: "off" },
  allowlist: { security: "allowlist", ask: "off" },
  ask: { security: "allowlist", ask: "on-miss" },
  auto: { security: "allowlist", ask: "on-miss" },
  full: { security: "full", ask: "off" },
} as const satisfies Readonly<Record<string, Choice>>;

export const EXEC_MODES = ["deny", "allowlist", "ask", "auto", "full"] as const;

/** One scope of the config: either `mode`, or the two others. */
interface Section {
  readonly mode?: keyof typeof MODES | undefined;
  readonly security?: Choice["security"] | undefined;
  readonly ask?: Choice["ask"] | undefined;
}

/** Which commands run and which are asked about: an agent's own values, else those of `tools.exec`, else the defaults. */
export function execChoice(all: Section, own: Section = {}): Choice {
  const base =
    all.mode === undefined ? ({ security: "allowlist", ask: "on-miss", ...given(all) } as const) : MODES[all.mode];
  return own.mode === undefined ? { ...base, ...given(own) } : MODES[own.mode];
}

/** A key that is left out may be there without a value. */
const given = ({ security, ask }: Section): Partial<Choice> => ({ ...(security && { security }), ...(ask && { ask }) });

/** Whether a scope says it in one way only. */
export const isOneExecForm = ({ mode, security, ask }: Section): boolean =>
  mode === undefined || (security === undefined && ask === undefined);
