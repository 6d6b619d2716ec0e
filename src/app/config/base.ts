import { z } from "zod";
import { Secret } from "../../types/secret.ts";
import { about, makes, secretText } from "../../utils/config.ts";
import { redactPattern } from "../log/redact.ts";
import { isSecretLike, isSecretName } from "../../utils/secrets/secret-name.ts";

const LEVELS = ["silent", "fatal", "error", "warn", "info", "debug", "trace"] as const;

/** `logging.*` */
export const loggingConfig = z.strictObject({
  level: z.enum(LEVELS).default("info").meta(about("Level", "What goes into the log file.")),
  file: z.string().optional().meta(about("File", "Log file; one a day in `logs/` of the state directory when unset.")),
  consoleLevel: z.enum(LEVELS).default("info").meta(about("Console level", "What is printed.")),
  consoleStyle: z
    .enum(["pretty", "compact", "json"])
    .default("pretty")
    .meta(about("Console style", "How it is printed; JSON lines when the output is no terminal.")),
  redactPatterns: z
    .array(z.string().min(1).refine(makes(redactPattern), "is no regular expression"))
    .prefault([])
    .meta(
      about(
        "Masked patterns",
        "Regular expressions, bare or as `/pattern/flags`: what they match in a log is printed as `[secret]`, besides the secrets of the config.",
      ),
    ),
});

/** No value is shown; only what is secret by its name or its looks is also masked in logs and answers. */
const secretOf = (name: string, value: string | Secret): Secret =>
  value instanceof Secret ? value : new Secret(value, { isMasked: isSecretName(name) || isSecretLike(value) });

/** `env.*` */
export const envConfig = z.strictObject({
  vars: z
    .record(z.string(), secretText)
    .transform((vars) => Object.fromEntries(Object.entries(vars).map(([name, value]) => [name, secretOf(name, value)])))
    .prefault({})
    .meta(about("Variables", "Environment variables of the gateway, where the environment has none of that name.")),
});

export type LoggingConfig = z.output<typeof loggingConfig>;
