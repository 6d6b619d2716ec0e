import { hashOfHook } from "../../../../plugins/internal-hooks/approved.ts";
import type { JudgedHook } from "../../../../plugins/internal-hooks/judge-hooks.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { own } from "../../../../utils/own.ts";
import { writeConfigValues } from "../../../config/edit/write.ts";
import { writeJson, type Io } from "../../io.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { FOLLOWS } from "../../ask-plugins.ts";
import { requireHook, requireHookState, type HookState } from "./hook-state.ts";

interface Json {
  readonly json?: boolean;
}

/** Enables a hook in the config. Of one whose files agents can change, the present files are approved. Throws `NOT_FOUND`, `PLUGIN_INVALID`. */
export async function hooksEnable(io: Io, name: string, flags: Json): Promise<number> {
  const state = await requireHookState(io);
  const hook = requireHook(state, name);
  refuseUnfit(hook);
  const integrity = hook.isOpen ? await hashOfHook(hook) : undefined;
  const entry = ["hooks", "internal", "entries", hook.key];
  const { internal } = state.plugins.state.config.hooks;
  await writeConfigValues(state.plugins.state.load, [
    // With `false`, no hook at all is called.
    ...(internal.enabled === false ? [{ path: ["hooks", "internal", "enabled"], value: true }] : []),
    { path: [...entry, "enabled"], value: true },
    ...(integrity !== undefined ? [{ path: [...entry, "integrity"], value: integrity }] : []),
  ]);
  const lines = [
    ...(integrity === undefined ? [] : [`Its files in ${hook.folder} are approved as they are now.`]),
    `Enabled hook: ${hook.name}`,
  ];
  return tell(io, state, { hook, enabled: true, lines, flags });
}

function refuseUnfit({ name, isAlone, unmet }: JudgedHook): void {
  if (isAlone === true)
    throw new OpenClawError("USAGE", {
      message: `${name} is a row of hooks.internal.handlers, which is always enabled.`,
      fix: "Remove the row to disable it.",
    });
  if (unmet !== undefined)
    throw new OpenClawError("PLUGIN_INVALID", {
      message: `${name} cannot be used here: ${unmet}.`,
      fix: `Run: openclaw hooks info ${name}`,
    });
}

/** Disables a hook in the config. It may be gone. Throws `NOT_FOUND`. */
export async function hooksDisable(io: Io, name: string, flags: Json): Promise<number> {
  const state = await requireHookState(io);
  const { entries } = state.plugins.state.config.hooks.internal;
  const hook = state.hooks.find((one) => one.name === name || one.key === name);
  if (!hook && !own(entries, name)) requireHook(state, name);
  const key = hook?.key ?? name;
  const entry = ["hooks", "internal", "entries", key];
  await writeConfigValues(state.plugins.state.load, [
    { path: [...entry, "enabled"], value: false },
    ...(own(entries, key)?.integrity === undefined ? [] : [{ path: [...entry, "integrity"], value: undefined }]),
  ]);
  return tell(io, state, { hook: { name }, enabled: false, lines: [`Disabled hook: ${name}`], flags });
}

interface Switched {
  readonly hook: Pick<JudgedHook, "name">;
  readonly enabled: boolean;
  readonly lines: readonly string[];
  readonly flags: Json;
}

function tell(io: Io, { plugins }: HookState, { hook, enabled, lines, flags }: Switched): number {
  const isRunning = plugins.state.owner !== undefined;
  if (flags.json === true) writeJson(io, { name: hook.name, enabled, ...(isRunning && { gateway: FOLLOWS }) });
  else for (const line of [...lines, ...(isRunning ? [FOLLOWS] : [])]) io.out(`${withoutTerminalControls(line)}\n`);
  return 0;
}
