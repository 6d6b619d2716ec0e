import type { Check, CheckResult } from "../../types/check.ts";
import { loadConfig, type LoadOptions } from "../config/load.ts";
import { ConfigError } from "../config/problem.ts";

/** The config file loads; every problem and every key without effect is a line. */
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
        return [ok, ...warnings.map((note): CheckResult => ({ status: "warn", message: note.text }))];
      } catch (error) {
        if (!(error instanceof ConfigError) || error.problems.length === 0) throw error;
        return error.problems.map((note): CheckResult => ({ status: "fail", message: note.text, fix: error.fix }));
      }
    },
  };
}
