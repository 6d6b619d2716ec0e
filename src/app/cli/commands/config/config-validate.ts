import { loadConfig } from "../../../config/load.ts";
import { ConfigError } from "../../../config/schema/problem.ts";
import { writeJson, type Io } from "../../io.ts";
import { loadOptions } from "../../state.ts";

/** Checks the file. Throws its `ConfigError` (exit code 78); with `json` it is printed instead. */
export async function configValidate(io: Io, options: { json?: boolean }): Promise<number> {
  const { load } = await loadOptions(io);
  try {
    const { exists, warnings } = await loadConfig(load);
    if (options.json === true) writeJson(io, { valid: true, path: load.path, exists, problems: [], warnings });
    else {
      for (const note of warnings) io.err(`warning: ${note.text}\n`);
      const but = warnings.some(({ isStop }) => isStop === true) ? ", but stops what the warnings above name" : "";
      io.out(exists ? `${load.path} is valid${but}.\n` : `There is no ${load.path}: all defaults.\n`);
    }
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError) || options.json !== true) throw error;
    const { code, message, fix, problems } = error;
    writeJson(io, { valid: false, path: load.path, code, message, fix, problems, warnings: [] });
    return 78;
  }
}
