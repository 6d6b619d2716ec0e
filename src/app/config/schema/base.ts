import { z } from "zod";
import { Secret } from "../../../types/secret.ts";
import { about, atStart, makes, secretText } from "../../../utils/config.ts";
import { redactPattern } from "../../log/redact.ts";
import { isSecretLike, isSecretName } from "../../../utils/secrets/secret-name.ts";

const LEVELS = ["silent", "fatal", "error", "warn", "info", "debug", "trace"] as const;

/** `logging.*` */
export const loggingConfig = z.strictObject({
  level: z.enum(LEVELS).default("info").meta(about("Level", "Least level of lines in the log file.")),
  file: z
    .string()
    .optional()
    .meta(atStart(about("File", "Log file. When unset, one file a day in `logs/` of the state directory."))),
  consoleLevel: z.enum(LEVELS).default("info").meta(about("Console level", "Least level of lines on the console.")),
  consoleStyle: z
    .enum(["pretty", "compact", "json"])
    .default("pretty")
    .meta(atStart(about("Console style", "Form of console lines; JSON lines when the output is not a terminal."))),
  redactPatterns: z
    .array(z.string().min(1).refine(makes(redactPattern), "is no regular expression"))
    .prefault([])
    .meta(
      atStart(
        about(
          "Masked patterns",
          "Regular expressions, bare or as `/pattern/flags`. Logs show `[secret]` for their matches, as for the secrets of the config.",
        ),
      ),
    ),
});

/**
 * A value of `env.vars`, which is never shown. A value that is secret by its name or form is also masked in logs and
 * answers.
 */
const secretOf = (name: string, value: string | Secret): Secret =>
  value instanceof Secret ? value : new Secret(value, { isMasked: isSecretName(name) || isSecretLike(value) });

/** `env.*` */
export const envConfig = z.strictObject({
  vars: z
    .record(z.string(), secretText)
    .transform((vars) => Object.fromEntries(Object.entries(vars).map(([name, value]) => [name, secretOf(name, value)])))
    .prefault({})
    .meta(atStart(about("Variables", "Environment variables for the gateway; a variable that is already set wins."))),
});

export type LoggingConfig = z.output<typeof loggingConfig>;

export { browserConfig } from "../../../browser/config.ts";
export { hooksConfig } from "../../../automation/hooks/config.ts";
export { cronConfig } from "../../../automation/cron/config.ts";
export { broadcastConfig } from "../../../channels/routing/broadcast.ts";
export { budgetsConfig } from "../../../providers/budget/config.ts";
export { mcpConfig } from "../../../mcp/config.ts";
export { memoryConfig } from "../../../tools/memory/config.ts";
