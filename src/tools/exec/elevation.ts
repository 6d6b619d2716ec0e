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

/** First sentence of a question about a command that leaves the sandbox. */
export const ELEVATED = "Elevated: it runs on the machine, outside the sandbox.";

const NOBODY =
  "The command was not run: whoever wrote this turn may not let a command leave the sandbox (tools.elevated). " +
  "Do without it, or tell the user.";
const OFF =
  "The command was not run: commands of this conversation do not leave the sandbox. The user can change that with /elevated.";

/** Backend and rules of one command. */
export interface CommandWay {
  readonly backend: ExecBackend;
  readonly settings: ExecSettings;
  /** Level of a command that leaves the sandbox; unset for a command with the run's usual backend. */
  readonly elevated?: Exclude<ElevatedLevel, "off">;
}

/** Arguments of a call about the place of its command. */
export interface WantedPlace {
  readonly elevated?: boolean | undefined;
  readonly host?: (typeof CALL_HOSTS)[number] | undefined;
}

export const CALL_HOSTS = ["auto", "sandbox", "gateway", "node"] as const;

/** Places of commands besides the usual one. */
export interface OtherPlaces {
  readonly elevation?: Elevation | undefined;
  /** A sandbox for a run that has none. */
  readonly sandboxed?: (() => ExecBackend) | undefined;
}

type Usual = Pick<CommandWay, "backend" | "settings">;

/** The backend and rules for a call, or the reason why it is refused. Pure. */
export function wayOf(wanted: WantedPlace, usual: Usual, places: OtherPlaces): CommandWay | string {
  if (wanted.host === "node") return NO_NODE;
  if (wanted.host === "sandbox") return sandboxWay(usual, places);
  const way = elevatedWay(wanted.elevated, usual, places.elevation);
  const isShut = typeof way !== "string" && wanted.host === "gateway" && way.backend.isSandbox === true;
  return isShut ? NO_GATEWAY : way;
}

const NO_NODE = "The command was not run: there is no other machine (host: node).";
const NO_GATEWAY =
  "The command was not run: commands of this session are in a sandbox (host: gateway). With elevated: true, and without host, a person " +
  "is asked whether it may run outside.";
const NO_SANDBOX = "The command was not run: no sandbox works for this session (host: sandbox). Leave host out.";

const sandboxWay = (usual: Usual, { sandboxed }: OtherPlaces): CommandWay | string => {
  if (usual.backend.isSandbox === true) return usual;
  return sandboxed ? { ...usual, backend: sandboxed() } : NO_SANDBOX;
};

/** The way of a command that may leave the sandbox. `asked`: the model's wish. */
function elevatedWay(asked: boolean | undefined, usual: Usual, elevation: Elevation | undefined): CommandWay | string {
  if (!elevation) return asked === true ? NOBODY : usual;
  const { level } = elevation;
  if (level === "off") return asked === true ? OFF : usual;
  if (asked === false || (asked !== true && level === "request")) return usual;
  const elevated = level === "request" ? "ask" : level;
  return { backend: elevation.backend, settings: settingsFor(elevated, usual.settings, elevation), elevated };
}

/** The rules for input to a command that left the sandbox, or the reason why the turn may write nothing to it. Pure. */
export function rulesOutside(settings: ExecSettings, elevation: Elevation | undefined): ExecSettings | string {
  if (!elevation) return "whoever wrote this turn may not let a command leave the sandbox (tools.elevated).";
  const { level } = elevation;
  if (level === "off")
    return "commands of this conversation do not leave the sandbox. The user can change that with /elevated.";
  return settingsFor(level === "request" ? "ask" : level, settings, elevation);
}

/**
 * The settings of a command outside the sandbox. Without an owner's rights a person is always asked: other people may
 * write into the turn.
 */
function settingsFor(level: ElevatedLevel, settings: ExecSettings, { acting }: Elevation): ExecSettings {
  if (settings.security === "deny") return settings;
  if (level === "ask" || !hasOwnerRights(acting.principal)) return { ...settings, ask: "always" };
  return level === "full" ? withSessionExec({ ...settings, security: "full", ask: "off" }, limitsOf(acting)) : settings;
}

const limitsOf = ({ exec = {} }: Acting): SessionExec => exec;
