import { OpenClawError } from "../../../../types/errors.ts";
import type { LoadedPlugin } from "../../../plugins/loaded-problems.ts";
import { askPlugins } from "../../ask-plugins.ts";
import { dim, table } from "../../table.ts";
import { writeJson, type Io } from "../../io.ts";
import { readPluginState, rowsOf, type PluginRow } from "./plugin-state.ts";

export interface ListFlags {
  readonly json?: boolean;
  readonly enabled?: boolean;
  readonly verbose?: boolean;
}

/** Lists the plugins that were found, and why one is not loaded. Their code does not run here; a running gateway knows what it did. */
export async function pluginsList(io: Io, flags: ListFlags): Promise<number> {
  const plugins = await readPluginState(io);
  const running = await askRunning(io);
  const rows = rowsOf(plugins)
    .map((row) => asLoaded(row, running))
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

/** Undefined when no gateway can be asked: then only the files say how the plugins are. */
async function askRunning(io: Io): Promise<readonly LoadedPlugin[] | undefined> {
  try {
    return await askPlugins(io);
  } catch (error) {
    if (!(error instanceof OpenClawError)) throw error;
    io.err(`The gateway cannot be asked which plugins it has loaded: ${error.message}\n`);
    return undefined;
  }
}

/** A plugin that is enabled, and that the running gateway could not load, is broken. */
function asLoaded(row: PluginRow, running: readonly LoadedPlugin[] = []): PluginRow {
  const there = running.find(({ id, root }) => id === row.id && root === row.root);
  if (row.state !== "enabled" || there?.state !== "failed" || there.why === undefined) return row;
  return { ...row, state: "broken", reason: there.why, ...(there.fix !== undefined && { fix: there.fix }) };
}

const HEADS = ["ID", "VERSION", "ORIGIN", "STATE", "REASON"];
const MORE = ["SOURCE", "FOLDER"];

const cellsOf = (row: PluginRow, { verbose }: ListFlags): readonly string[] => [
  row.id,
  row.version ?? "-",
  row.origin,
  row.state,
  row.reason ?? "",
  ...(verbose === true ? [row.source ?? "-", row.root] : []),
];
