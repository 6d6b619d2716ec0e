import { z } from "zod";
import { about, secretField } from "../../utils/config.ts";

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
});

/** `env.*` */
export const envConfig = z.strictObject({
  vars: z
    .record(z.string(), secretField)
    .prefault({})
    .meta(about("Variables", "Environment variables of the gateway, where the environment has none of that name.")),
});

export type LoggingConfig = z.output<typeof loggingConfig>;
