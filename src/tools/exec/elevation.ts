import { hasOwnerRights, type Acting } from "../../types/run/principal.ts";
import type { ExecBackend } from "../../types/run/backend.ts";
import { EXEC_HOSTS, stricterOf, type ElevatedLevel, type SessionExec } from "../../types/run/exec-wish.ts";
import type { ExecSettings } from "../../types/settings.ts";
import type { Elevation } from "../../types/run/tool.ts";
import { narrowed } from "./rules/policy.ts";

/** The settings of a turn's commands: as strict as the config and the conversation together. Pure. */
export function withSessionExec(settings: ExecSettings, { host, security, ask }: SessionExec): ExecSettings {
  return { ...narrowed(settings, { security, ask }), host: stricterOf(EXEC_HOSTS, settings.host ?? "auto", host) };
}

/** What a question about a command that leaves the sandbox begins with. */
export const ELEVATED = "Elevated: it runs on the machine, outside the sandbox.";

const NOBODY =
  "The command was not run: whoever wrote this turn may not let a command leave the sandbox (tools.elevated). " +
  "Do without it, or tell the user.";
const OFF =
  "The command was not run: commands of this conversation do not leave the sandbox. The user can change that with /elevated.";

/** Where one command runs, and by which rules. */
export interface CommandWay {
  readonly backend: ExecBackend;
  readonly settings: ExecSettings;
  /** Unset: as every command of the run. */
  readonly elevated?: Exclude<ElevatedLevel, "off">;
}

/** The way of a call, or why it is refused. `asked`: what the model says of it. Pure. */
export function wayOf(
  asked: boolean | undefined,
  usual: Pick<CommandWay, "backend" | "settings">,
  elevation: Elevation | undefined,
): CommandWay | string {
  if (!elevation) return asked === true ? NOBODY : usual;
  const { level } = elevation;
  if (level === "off") return asked === true ? OFF : usual;
  if (asked === false || (asked !== true && level === "request")) return usual;
  const elevated = level === "request" ? "ask" : level;
  return { backend: elevation.backend, settings: settingsFor(elevated, usual.settings, elevation), elevated };
}

/** The rules of what is written to a command that left the sandbox, or why the turn may write nothing to it. Pure. */
export function rulesOutside(settings: ExecSettings, elevation: Elevation | undefined): ExecSettings | string {
  if (!elevation) return "whoever wrote this turn may not let a command leave the sandbox (tools.elevated).";
  const { level } = elevation;
  if (level === "off")
    return "commands of this conversation do not leave the sandbox. The user can change that with /elevated.";
  return settingsFor(level === "request" ? "ask" : level, settings, elevation);
}

/** A command of somebody who is no owner is always asked about: others may write into the turn. */
function settingsFor(level: ElevatedLevel, settings: ExecSettings, { acting }: Elevation): ExecSettings {
  if (settings.security === "deny") return settings;
  if (level === "ask" || !hasOwnerRights(acting.principal)) return { ...settings, ask: "always" };
  return level === "full" ? withSessionExec({ ...settings, security: "full", ask: "off" }, limitsOf(acting)) : settings;
}

const limitsOf = ({ exec = {} }: Acting): SessionExec => exec;
