import type { JudgedHook } from "../../../../plugins/internal-hooks/judge-hooks.ts";
import { shownHook } from "../../../../plugins/internal-hooks/shown-hook.ts";
import { writeJson, type Io } from "../../io.ts";
import { dim, pairs, table } from "../../table.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { readHookState, requireHook, type HookState } from "./hook-state.ts";

interface Json {
  readonly json?: boolean;
}

export interface HookListFlags extends Json {
  readonly eligible?: boolean;
  readonly verbose?: boolean;
}

/** Lists the hooks that were found, and why one is not called. */
export async function hooksList(io: Io, flags: HookListFlags): Promise<number> {
  const state = await readHookState(io);
  warnOfProblem(io, state);
  const hooks = state.hooks.filter(({ unmet }) => flags.eligible !== true || unmet === undefined);
  if (flags.json === true) {
    const { paths } = state.plugins.state;
    writeJson(io, { managedHooksDir: paths.hooks, hooks: hooks.map(shownHook), leftOut: state.leftOut });
    return 0;
  }
  const isVerbose = flags.verbose === true;
  const heads = ["NAME", "STATE", "SOURCE", "EVENTS", "ABOUT", ...(isVerbose ? ["FOLDER"] : [])];
  io.out(
    hooks.length === 0
      ? `${dim(io, "No hooks.")}\n`
      : table(
          io,
          heads,
          hooks.map((hook) => cellsOf(hook, isVerbose)),
        ),
  );
  for (const { folder, why } of state.leftOut)
    io.err(`${withoutTerminalControls(folder)} is not used: ${withoutTerminalControls(why)}\n`);
  return 0;
}

function warnOfProblem(io: Io, { plugins }: HookState): void {
  const { problem } = plugins.state;
  if (problem) io.err(`The config has a problem, so the default settings are shown: ${problem.message}\n`);
}

const cellsOf = (hook: JudgedHook, isVerbose: boolean): readonly string[] => [
  `${hook.emoji === undefined ? "" : `${hook.emoji} `}${hook.name}`,
  STATES[hook.state],
  hook.root.plugin ?? hook.root.source,
  hook.events.join(" "),
  hook.state === "on" || hook.state === "off" ? hook.description : (hook.why ?? ""),
  ...(isVerbose ? [hook.folder] : []),
];

const STATES: Readonly<Record<JudgedHook["state"], string>> = {
  on: "on",
  off: "off",
  unfit: "cannot run",
  unapproved: "not approved",
};

/** Shows all that is known of a hook without running it. Throws `NOT_FOUND`. */
export async function hooksInfo(io: Io, name: string, flags: Json): Promise<number> {
  const state = await readHookState(io);
  warnOfProblem(io, state);
  const hook = requireHook(state, name);
  if (flags.json === true) writeJson(io, shownHook(hook));
  else io.out(textOf(io, hook));
  return 0;
}

const listed = (names: readonly string[]): string | undefined => (names.length === 0 ? undefined : names.join(", "));

function textOf(io: Io, hook: JudgedHook): string {
  const { needs, root } = hook;
  return pairs(io, [
    ["name", hook.name],
    ["about", hook.description === "" ? undefined : hook.description],
    ["state", hook.why === undefined ? STATES[hook.state] : `${STATES[hook.state]}: ${hook.why}`],
    ["fix", hook.fix],
    ["events", listed(hook.events)],
    ["unknown events", listed(hook.unknownEvents)],
    ["source", root.source],
    ["plugin", root.plugin],
    ["agent", root.agent],
    ["folder", hook.folder],
    ["code", `${hook.handler} (${hook.exportName})`],
    ["homepage", hook.homepage],
    ["systems", listed(needs.os)],
    ["programs", listed(needs.bins)],
    ["one program of", listed(needs.anyBins)],
    ["variables", listed(needs.env)],
    ["config keys", listed(needs.config)],
    ["missing", hook.state === "unfit" ? undefined : hook.unmet],
    ["settings", `hooks.internal.entries.${hook.key}`],
    ["approved files", hook.integrity],
  ]);
}

/** Reports what keeps hooks from being called. 1 when the config wants one that cannot be. */
export async function checkHooks(io: Io, flags: Json): Promise<number> {
  const state = await readHookState(io);
  warnOfProblem(io, state);
  const { hooks, leftOut } = state;
  const kept = hooks.filter((hook) => hook.state === "unfit" || hook.state === "unapproved");
  const count = (wanted: JudgedHook["state"]) => hooks.filter((hook) => hook.state === wanted).length;
  const sums = { total: hooks.length, on: count("on"), off: count("off"), notCalled: kept.length };
  if (flags.json === true) writeJson(io, { ...sums, hooks: kept.map(shownHook), leftOut });
  else {
    io.out(`${sums.total} hooks: ${sums.on} on, ${sums.off} off, ${sums.notCalled} wanted that cannot be called.\n`);
    for (const { name, why = "", fix } of kept)
      io.out(`${withoutTerminalControls(`${name}: ${why}.${fix === undefined ? "" : ` ${fix}`}`)}\n`);
    for (const { name, unknownEvents } of hooks.filter(({ state: is }) => is === "on"))
      if (unknownEvents.length > 0)
        io.out(`${withoutTerminalControls(`${name}: no event is called ${listed(unknownEvents)}.`)}\n`);
    for (const { folder, why } of leftOut) io.out(`${withoutTerminalControls(`${folder} is not used: ${why}`)}\n`);
  }
  return kept.length === 0 ? 0 : 1;
}
