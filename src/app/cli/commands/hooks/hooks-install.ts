import { join } from "node:path";
import { stagePack, type StagedPack } from "../../../../plugins/internal-hooks/stage-pack.ts";
import { linkSource, parseSource, sourceOfRecord, type PluginSource } from "../../../../plugins/install/source.ts";
import { readRecords } from "../../../../plugins/install/records.ts";
import type { PluginStore } from "../../../../plugins/install/store.ts";
import { commitDraft, repairStore, settleDraft, withStoreLock } from "../../../../plugins/install/swap.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { own } from "../../../../utils/own.ts";
import { writeConfigValues } from "../../../config/edit/write.ts";
import { writeJson, type Io } from "../../io.ts";
import { pairs } from "../../table.ts";
import { hasConsent, listed, showSize, type ConsentFlags } from "../plugins/consent.ts";
import { requireAllowed } from "../plugins/judge-install.ts";
import { Steps } from "../plugins/steps.ts";
import { requireHookState, type HookState } from "./hook-state.ts";

export type HookInstallFlags = ConsentFlags & { readonly link?: boolean; readonly json?: boolean };

/** The store of installed hooks: `hooks/` of the state directory, with records beside those of plugins. */
const storeOf = ({ plugins: { store, state } }: HookState): PluginStore => ({
  ...store,
  extensions: state.paths.hooks,
  records: join(state.paths.stateDir, "plugins", "hook-installs.json"),
});

/** Fetches a hook or a pack of hooks, shows what it is, and installs and enables it. A plugin is installed as one. 1 when a person says no. */
export async function hooksInstall(io: Io, text: string, flags: HookInstallFlags): Promise<number> {
  const state = await requireHookState(io);
  const { where } = state.plugins;
  if (flags.link === true) return link(io, state, linkSource(text, where), flags);
  const source = parseSource(text, where);
  if (source.kind === "link") throw new Error("only --link gives one");
  const done = await put(io, state, { source, flags, mode: "install" });
  if (done === "plugin") {
    const { pluginsInstall } = await import("../plugins/plugins-install.ts");
    return pluginsInstall(io, text, flags);
  }
  if (done === "refused") {
    io.err("Nothing was installed.\n");
    return 1;
  }
  await enable(state, done);
  return tell(io, state, done, flags);
}

/** Updates installed hooks from where they came from. 1 when a person says no. Throws `NOT_FOUND`. */
export async function hooksUpdate(io: Io, id: string, flags: HookInstallFlags): Promise<number> {
  const state = await requireHookState(io);
  const record = own(await readRecords(storeOf(state).records), id);
  const source = record && sourceOfRecord(record, state.plugins.where);
  if (!source || source.kind === "link")
    throw new OpenClawError("NOT_FOUND", {
      message: `No hooks were installed as ${id}.`,
      fix: `A plugin with hooks is updated with: openclaw plugins update ${id}`,
    });
  const done = await put(io, state, { source, flags, mode: "update", id });
  if (typeof done === "object") return tell(io, state, done, flags);
  io.err(done === "plugin" ? `The source of ${id} now holds a plugin.\n` : `${id} was not updated.\n`);
  return 1;
}

interface Job {
  readonly source: Exclude<PluginSource, { kind: "link" }>;
  readonly flags: HookInstallFlags;
  readonly mode: "install" | "update";
  /** The pack that is updated. */
  readonly id?: string;
}

type Put = StagedPack | "plugin" | "refused";

async function put(io: Io, state: HookState, job: Job): Promise<Put> {
  const store = storeOf(state);
  return withStoreLock(store, async () => {
    for (const line of await repairStore(store)) io.err(`${line}\n`);
    const steps = new Steps(io);
    const staged = await stagePack(store, job.source, steps.begin).finally(() => steps.stop());
    if (!staged) return "plugin";
    try {
      return await place(io, state, { ...job, staged });
    } finally {
      await settleDraft(store, staged.draft);
    }
  });
}

async function place(
  io: Io,
  state: HookState,
  { staged, flags, mode, id }: Job & { staged: StagedPack },
): Promise<Put> {
  const store = storeOf(state);
  await refuseTaken(state, staged, { isReplaced: mode === "update" || flags.force === true, id });
  show(io, staged);
  const { pack, origin, size, root, record } = staged;
  const facts = { id: staged.id, origin, size, ...(pack.version !== undefined && { version: pack.version }) };
  await requireAllowed(
    io,
    state.plugins,
    { plugin: { root, package: pack }, facts, record },
    { mode, isAcknowledged: false },
  );
  const question = mode === "install" ? `Install ${staged.id}?` : `Update ${staged.id}?`;
  if (!(await hasConsent(io, flags, question))) return "refused";
  await commitDraft(store, { ...staged, record: { ...record, installedAt: new Date().toISOString() } });
  return staged;
}

/** Throws for hooks with the name of another managed hook, and for a folder that is there. */
async function refuseTaken(
  { hooks, plugins }: HookState,
  { id, hooks: added }: StagedPack,
  { isReplaced, id: wanted = id }: { readonly isReplaced: boolean; readonly id: string | undefined },
): Promise<void> {
  if (wanted !== id)
    throw new OpenClawError("PLUGIN_UNSAFE", {
      message: `The source of ${wanted} now holds other hooks, ${id}.`,
      fix: "Do not install it before its author has explained this.",
    });
  const folder = join(plugins.state.paths.hooks, id);
  const isThere = (path: string) => path === folder || path.startsWith(`${folder}/`);
  const taken = hooks.find((hook) => hook.root.source === "managed" && added.some(({ name }) => name === hook.name));
  if (!taken || (isReplaced && isThere(taken.folder))) return;
  throw new OpenClawError("USAGE", {
    message: `There is a hook ${taken.name} already, in ${taken.folder}.`,
    fix: isThere(taken.folder)
      ? `Run \`openclaw hooks update ${id}\`, or repeat the command with --force.`
      : "Remove that folder first.",
  });
}

function show(io: Io, { id, hooks, pack, origin, size }: StagedPack): void {
  io.err(
    pairs(io, [
      ["hooks", listed(hooks.map(({ name }) => name))],
      ["package", pack.name ?? id],
      ["version", pack.version],
      ["from", origin.from],
      ["integrity", origin.integrity],
      ["size", `${showSize(size.bytes)} in ${size.files} files`],
      ["called for", listed([...new Set(hooks.flatMap(({ events }) => events))])],
    ]),
  );
  io.err("A hook runs with all rights of the gateway, and may read every conversation.\n");
}

async function enable({ plugins }: HookState, { hooks }: Pick<StagedPack, "hooks">): Promise<void> {
  await writeConfigValues(
    plugins.state.load,
    hooks.map(({ key }) => ({ path: ["hooks", "internal", "entries", key, "enabled"], value: true })),
  );
}

/** Uses a folder of hooks where it is. */
async function link(io: Io, state: HookState, source: PluginSource, flags: HookInstallFlags): Promise<number> {
  if (source.kind !== "link") throw new Error("only --link gives one");
  const { state: found } = state.plugins;
  const { extraDirs } = found.config.hooks.internal.load;
  const value = [...new Set([...extraDirs, source.path])];
  await writeConfigValues(found.load, [{ path: ["hooks", "internal", "load", "extraDirs"], value }]);
  if (flags.json === true) writeJson(io, { linked: source.path });
  else io.out(`Hooks are also looked for in ${source.path}: each folder in it may be one.\n`);
  return 0;
}

function tell(io: Io, { plugins }: HookState, { id, hooks }: StagedPack, flags: HookInstallFlags): number {
  const names = hooks.map(({ name }) => name);
  if (flags.json === true) {
    writeJson(io, { id, hooks: names });
    return 0;
  }
  io.out(`Installed hooks: ${names.join(", ")}\n`);
  if (plugins.state.config.hooks.internal.enabled === false)
    io.out("No hook is called: hooks.internal.enabled is false.\n");
  else if (plugins.state.owner) io.out("The running gateway calls new hooks by itself; restart it for changed code.\n");
  return 0;
}
