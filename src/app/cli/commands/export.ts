import type { Exported } from "../../export/export.ts";
import { exportState } from "../../export/export.ts";
import { openLog } from "../../log/log.ts";
import { writeJson, type Io } from "../io.ts";
import { withProgress } from "../progress.ts";
import { loadOptions } from "../state.ts";
import { pairs } from "../table.ts";
import { withoutTerminalControls } from "../terminal-text.ts";

export interface StateExportFlags {
  readonly to: string;
  readonly withKeys?: boolean;
  readonly json?: boolean;
}

/** Makes a state directory for OpenClaw, and prints what is in it and what stayed behind. Throws what `exportState` does. */
export async function exportCommand(io: Io, { to, withKeys, json }: StateExportFlags): Promise<number> {
  const { paths, load } = await loadOptions(io);
  const log = openLog({
    dir: paths.logs,
    level: "warn",
    consoleLevel: "silent",
    consoleStyle: "pretty",
    redactPatterns: [],
  });
  const options = { paths, load, env: io.env, to, withKeys: withKeys === true, log, now: Date.now };
  const made = await withProgress(io, "Exporting", exportState(options));
  if (json === true) writeJson(io, made);
  else print(io, made);
  return 0;
}

function print(io: Io, { to, counts, config, left }: Exported): void {
  const { sessions, transcripts, archives, jobs, people, waiting, allowedCommands, keys, workspaces, skills, hooks } =
    counts;
  io.out(`Made ${to} for OpenClaw 2026.5.20. Nothing of this gateway was changed.\n\n`);
  io.out(
    pairs(io, [
      ["Conversations", `${sessions}, ${transcripts} transcripts; ${archives} earlier ones`],
      ["Scheduled jobs", String(jobs)],
      ["People", `${people} let in, ${waiting} waiting with a code`],
      ["Allowed commands", String(allowedCommands)],
      ["Keys of models", String(keys)],
      ["Folders", `${workspaces} workspaces, ${skills} skills, ${hooks} hooks`],
      ["Config", config.added.length === 0 ? undefined : `written out: ${config.added.join(", ")}`],
    ]),
  );
  const keysLeft = config.left.map(
    ({ key, why, restricts }) => `the config key ${key}: ${why}${restricts ? ". It restricts something here" : ""}`,
  );
  const lines = [...left.map(({ what, why }) => `${what}: ${why}`), ...keysLeft];
  if (lines.length > 0)
    io.out(`\nLeft behind, or not the same:\n${lines.map((line) => `  ${withoutTerminalControls(line)}\n`).join("")}`);
  io.out(`\nKeep this gateway stopped, then: OPENCLAW_STATE_DIR=${to} openclaw gateway\n`);
}
