import type { Check, CheckResult } from "../../types/check.ts";
import { exists } from "../../utils/exists.ts";
import { loadConfig, type LoadOptions } from "../config/load.ts";
import { STOP_FIX } from "../config/keys/narrowing.ts";
import { ConfigError, type ConfigNote } from "../config/schema/problem.ts";

const resultOf = ({ text, isStop }: ConfigNote): CheckResult =>
  isStop === true ? { status: "fail", message: text, fix: STOP_FIX } : { status: "warn", message: text };

/** Whether the config file loads; every problem and every key without effect is a line. */
export function configCheck(options: LoadOptions): Check {
  return {
    id: "app.config",
    title: "Config",
    async run() {
      try {
        const { warnings, exists } = await loadConfig(options);
        const ok: CheckResult = {
          status: "ok",
          message: exists ? `${options.path} is valid.` : `No ${options.path}: all defaults.`,
        };
        return [ok, ...warnings.map(resultOf)];
      } catch (error) {
        if (!(error instanceof ConfigError) || error.problems.length === 0) throw error;
        const fix = `${error.fix}${await wayBack(options.path)}`;
        return error.problems.map((note): CheckResult => ({ status: "fail", message: note.text, fix }));
      }
    },
  };
}

/**
 * A sentence that names the file before the last change of the gateway or a command; empty when there is no such file.
 */
async function wayBack(path: string): Promise<string> {
  const before = `${path}.bak`;
  return (await exists(before)) ? ` The file before the last change is ${before}.` : "";
}
