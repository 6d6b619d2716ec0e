import { basename, dirname, isAbsolute, join } from "node:path";
import { type SkillMachine, unmetCondition } from "../../prompt/skills/skill-conditions.ts";
import { own } from "../../utils/own.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { hashOfHook, type HookCode } from "./approved.ts";
import { areHooksOn, type HookEntry, type InternalHooksConfig } from "./config.ts";
import { hooksTelling } from "./event.ts";
import { type FoundHook, type FoundHooks, findHooks, type HookRoot } from "./find-hooks.ts";

/** Facts that decide which hooks are called. */
export interface HookScene {
  readonly roots: readonly HookRoot[];
  readonly config: InternalHooksConfig;
  /** Facts about this machine that decide which hooks can be used. */
  readonly machine: SkillMachine;
  /** The agents' workspaces, the default agent's first. */
  readonly workspaces: readonly string[];
  /** Folders that no agent's tool writes. */
  readonly closed: readonly string[];
}

/** Whether a hook is called. `off`: nobody wants it; `unfit`: it cannot be used here; `unapproved`: nobody has approved its files. */
type HookState = "on" | "off" | "unfit" | "unapproved";

export interface JudgedHook extends FoundHook, HookCode {
  readonly state: HookState;
  /** Why the hook is not called, without a full stop. */
  readonly why?: string;
  /** The step to take, as a sentence. */
  readonly fix?: string;
  /** A condition that this machine does not meet, whether or not the hook is wanted. */
  readonly unmet?: string;
  /** An agent's tools can change its files; the called code is a copy of the approved files. */
  readonly isOpen: boolean;
  readonly integrity?: string;
}

export interface JudgedHooks extends Pick<FoundHooks, "leftOut"> {
  readonly hooks: readonly JudgedHook[];
}

/** Finds all hooks, and decides of each whether it is called. Runs none of their code. Never rejects. */
export async function judgeHooks(scene: HookScene): Promise<JudgedHooks> {
  const { hooks, leftOut } = await findHooks(scene.roots);
  const { entries } = scene.config;
  const found = await Promise.all(hooks.map((hook) => judge(hook, own(entries, hook.key), scene)));
  const alone = await Promise.all(singleHandlers(scene).map(({ hook, entry }) => judge(hook, entry, scene)));
  return { hooks: [...found, ...alone], leftOut };
}

type Entry = Partial<HookEntry>;

/** `hooks.internal.handlers` as hooks without a `HOOK.md`. */
function singleHandlers({ config, workspaces }: HookScene): readonly { hook: FoundHook & HookCode; entry: Entry }[] {
  return config.handlers.map(({ event, module, export: exportName, integrity }, at) => {
    const path = isAbsolute(module) ? module : join(workspaces[0] ?? "", module);
    const name = `handlers[${at}]`;
    const hook = {
      name,
      description: module,
      key: name,
      events: [event],
      unknownEvents: hooksTelling(event).length === 0 ? [event] : [],
      exportName,
      needs: { always: false, os: [], bins: [], anyBins: [], env: [], config: [] },
      folder: dirname(path),
      handler: basename(path),
      root: { source: "managed" as const, dir: dirname(path) },
      isAlone: true as const,
    };
    return { hook, entry: { enabled: true, ...(integrity !== undefined && { integrity }) } };
  });
}

async function judge(hook: FoundHook & HookCode, entry: Entry | undefined, scene: HookScene): Promise<JudgedHook> {
  try {
    const isOpen = await canBeChanged(hook, scene);
    const unmet = await unmetCondition(hook.needs, withVariables(scene.machine, entry?.env));
    const judged = { ...hook, isOpen, ...(unmet !== undefined && { unmet }) };
    const off = whyOff(hook, entry, scene);
    if (off) return { ...judged, state: "off", ...off };
    if (unmet !== undefined) return { ...judged, state: "unfit", why: unmet };
    return isOpen ? await approved(judged, entry) : { ...judged, state: "on" };
  } catch (error) {
    return { ...hook, isOpen: true, state: "unfit", why: errorText(error) };
  }
}

function whyOff(
  { name, root }: FoundHook,
  entry: Entry | undefined,
  { config }: HookScene,
): Pick<JudgedHook, "why" | "fix"> | undefined {
  const enabled = entry?.enabled;
  if (config.enabled === false) return { why: "hooks.internal.enabled is false", fix: ENABLE_ALL };
  if (!areHooksOn(config)) return { why: "the config enables no hook" };
  if (enabled === false) return { why: "the config disables it" };
  const isOptIn = root.source === "bundled" || root.source === "workspace";
  return isOptIn && enabled !== true ? { why: `it is not enabled (openclaw hooks enable ${name})` } : undefined;
}

const ENABLE_ALL = "Run: openclaw config set hooks.internal.enabled true";

const withVariables = (machine: SkillMachine, env: HookEntry["env"] = {}): SkillMachine => {
  const given = Object.entries(env).map(([name, value]) => [name, value.reveal()] as const);
  return given.length === 0 ? machine : { ...machine, env: { ...Object.fromEntries(given), ...machine.env } };
};

/** Whether a hook's files are in a workspace, where agents write, or were reached through one. */
async function canBeChanged({ folder, root }: FoundHook, { workspaces, closed }: HookScene): Promise<boolean> {
  if (root.source === "bundled" || root.source === "plugin") return false;
  if (root.source === "workspace") return true;
  const real = await realOf(folder);
  const isBelow = async (dir: string) => isInside(real, await realOf(dir));
  const [inWorkspace, inClosed] = await Promise.all([someOf(workspaces, isBelow), someOf(closed, isBelow)]);
  return inWorkspace && !inClosed;
}

const someOf = async (dirs: readonly string[], test: (dir: string) => Promise<boolean>): Promise<boolean> =>
  (await Promise.all(dirs.map(test))).includes(true);

async function approved(hook: Omit<JudgedHook, "state">, entry: Entry | undefined): Promise<JudgedHook> {
  const integrity = await hashOfHook(hook);
  if (entry?.integrity === integrity) return { ...hook, state: "on", integrity };
  const why =
    entry?.integrity === undefined
      ? "agents can change its files, and nobody has approved them"
      : "its files were changed after they were approved";
  const fix =
    hook.isAlone === true
      ? `Read ${join(hook.folder, hook.handler)}, then set hooks.internal.${hook.name}.integrity to ${integrity}.`
      : `Read the files in ${hook.folder}, then run: openclaw hooks enable ${hook.name}`;
  return { ...hook, state: "unapproved", why, fix, integrity };
}
