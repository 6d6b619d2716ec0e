import { activationOf } from "../../../../plugins/found/activation.ts";
import { isSelected } from "../../../../plugins/install/switches.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { defined } from "../../../../utils/defined.ts";
import { selectable, trialVerdict } from "../../../plugins/select.ts";
import { askPlugins } from "../../ask-plugins.ts";
import { dim, table } from "../../table.ts";
import { writeJson, type Io } from "../../io.ts";
import { liveOf, readPluginState, pluginRows, type PluginRow, type PluginCommandState } from "./plugin-state.ts";

export interface PluginListFlags {
  readonly json?: boolean;
  readonly enabled?: boolean;
  readonly verbose?: boolean;
}

/**
 * Lists the plugins that were found, and why one does not work. A running gateway knows that; without one, only the plugins that slots
 * name are tried.
 */
export async function pluginsList(io: Io, flags: PluginListFlags): Promise<number> {
  const plugins = await readPluginState(io);
  const running = await askRunning(io);
  const problems = running ? problemsIn(running) : await problemsOfSlots(plugins);
  const rows = pluginRows(plugins)
    .map((row) => asUsed(row, problems))
    .filter(({ state }) => flags.enabled !== true || state === "enabled");
  const { problem } = plugins.state;
  if (problem) io.err(`The config has a problem, so the default settings are shown: ${problem.message}\n`);
  if (flags.json === true) writeJson(io, { plugins: rows });
  else if (rows.length === 0) io.out(`${dim(io, "No plugins.")} Install one: openclaw plugins install <source>\n`);
  else
    io.out(
      table(
        io,
        [...HEADS, ...(flags.verbose === true ? MORE : [])],
        rows.map((row) => cellsOf(row, flags)),
      ),
    );
  return 0;
}

type Told = Awaited<ReturnType<typeof askPlugins>>;

/** Undefined when no gateway can be asked. */
async function askRunning(io: Io): Promise<Told> {
  try {
    return await askPlugins(io);
  } catch (error) {
    if (!(error instanceof OpenClawError)) throw error;
    io.err(`The gateway cannot be asked which plugins it has loaded: ${error.message}\n`);
    return undefined;
  }
}

/** Why a plugin does not work. */
interface RowProblem {
  readonly id: string;
  /** Unset: wherever it is. */
  readonly root?: string | undefined;
  readonly why: string;
  readonly fix?: string | undefined;
}

function problemsIn({ records, faults }: NonNullable<Told>): readonly RowProblem[] {
  const failed = records.flatMap(({ id, root, state, why, fix }) =>
    state === "failed" && why !== undefined ? [{ id, root, why, fix }] : [],
  );
  const faulty = faults.flatMap(({ kind, plugin, message, fix }) =>
    plugin === undefined || kind === "tool" ? [] : [{ id: plugin, why: message.replace(/\.$/, ""), fix }],
  );
  return [...failed, ...faulty];
}

/** Of the plugins that slots name, which are tried. */
async function problemsOfSlots(plugins: PluginCommandState): Promise<readonly RowProblem[]> {
  const { found, state } = plugins;
  const { slots } = state.config.plugins;
  const on = found.plugins.filter(
    (plugin) => activationOf(plugin, state.config.plugins).isOn && !found.leftOut.has(plugin.manifest.id),
  );
  const selected = on.filter(({ manifest: { id }, engines }) => isSelected(state.config.plugins, { id, engines }));
  if (state.problem || selected.length === 0) return [];
  const live = await liveOf(plugins);
  const problems: RowProblem[] = [];
  for (const plugin of selected) {
    const { id } = plugin.manifest;
    const slot = slots.memory === id ? "memory" : "contextEngine";
    const fit = selectable(slot, await trialVerdict(plugin, live), slots[slot]);
    if ("why" in fit) problems.push({ id, ...fit });
  }
  return problems;
}

/** A plugin that is enabled and does not work is broken. */
function asUsed(row: PluginRow, problems: readonly RowProblem[]): PluginRow {
  const found = problems.find(({ id, root = row.root }) => id === row.id && root === row.root);
  if (row.state !== "enabled" || !found) return row;
  return { ...row, state: "broken", reason: found.why, ...defined({ fix: found.fix }) };
}

const HEADS = ["ID", "VERSION", "ORIGIN", "STATE", "REASON"];
const MORE = ["SOURCE", "FOLDER"];

const cellsOf = (row: PluginRow, { verbose }: PluginListFlags): readonly string[] => [
  row.id,
  row.version ?? "-",
  row.origin,
  row.state,
  row.reason ?? "",
  ...(verbose === true ? [row.source ?? "-", row.root] : []),
];
