import { dim, table } from "../../table.ts";
import { writeJson, type Io } from "../../io.ts";
import { readPluginState, rowsOf, type PluginRow } from "./plugin-state.ts";

export interface ListFlags {
  readonly json?: boolean;
  readonly enabled?: boolean;
  readonly verbose?: boolean;
}

/** Lists the plugins that were found, and why one is not loaded. Their code does not run. */
export async function pluginsList(io: Io, flags: ListFlags): Promise<number> {
  const plugins = await readPluginState(io);
  const rows = rowsOf(plugins).filter(({ state }) => flags.enabled !== true || state === "enabled");
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
