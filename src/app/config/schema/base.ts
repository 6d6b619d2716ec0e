import { z } from "zod";
import { Secret } from "../../../types/secret.ts";
import { about, atStart, secretText } from "../../../utils/config.ts";
import { makes } from "../../../utils/makes.ts";
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

const count = z.int().min(1).optional();
const ALIAS = /^[a-z][a-z0-9_-]{0,63}$/;
const alias = z.string().regex(ALIAS, "is no name of a provider: small letters, digits, - and _").optional();

const secretProvider = z.discriminatedUnion("source", [
  z.strictObject({ source: z.literal("env"), allowlist: z.array(z.string()).optional() }),
  z.strictObject({
    source: z.literal("file"),
    path: z.string().min(1),
    mode: z.enum(["json", "singleValue"]).optional(),
    timeoutMs: count,
    maxBytes: count,
  }),
  z.strictObject({
    source: z.literal("exec"),
    command: z.string().min(1).optional(),
    args: z.array(z.string()).optional(),
    passEnv: z.array(z.string()).optional(),
    env: z.record(z.string(), z.string()).optional(),
    jsonOnly: z.boolean().optional(),
    trustedDirs: z.array(z.string()).optional(),
    timeoutMs: count,
    noOutputTimeoutMs: count,
    maxOutputBytes: count,
    pluginIntegration: z.looseObject({}).optional(),
  }),
  z.strictObject({ source: z.literal("store") }),
]);

/** `secrets.*`: see `SecretProviders`, which reads it before anything else is resolved. */
export const secretsConfig = z.strictObject({
  providers: z
    .record(z.string().regex(ALIAS, "is no name of a provider: small letters, digits, - and _"), secretProvider)
    .prefault({})
    .meta(
      about(
        "Providers",
        "Where secrets are, by name: in variables, in a private file of JSON or of one value, or with a program that answers in JSON. A reference names one in `provider`.",
        { vault: { source: "file", path: "~/.openclaw/secrets.json" } },
      ),
    ),
  defaults: z
    .strictObject({
      env: alias.meta(about("Variables", "The provider of references with the source `env` that name none.")),
      file: alias.meta(about("Files", "The provider of references with the source `file` that name none.", "vault")),
      exec: alias.meta(about("Programs", "The provider of references with the source `exec` that name none.")),
      store: alias.meta(about("Store", "Known from OpenClaw; its store of secrets is not read here.")),
    })
    .prefault({})
    .meta(about("Default providers", "The provider of references that name none, by source.")),
});

const installProgram = z.strictObject({
  source: z.literal("exec").default("exec").meta(about("Source", "Always `exec`.")),
  command: z.string().min(1).meta(about("Program", "Absolute path of the program; nobody else may change it.")),
  args: z.array(z.string()).prefault([]).meta(about("Arguments", "Its arguments.")),
  env: z.record(z.string(), z.string()).prefault({}).meta(about("Variables", "Its environment variables.")),
  passEnv: z.array(z.string()).prefault([]).meta(about("Passed variables", "Variables that it gets from the command.")),
  trustedDirs: z
    .array(z.string())
    .optional()
    .meta(about("Trusted folders", "Folders in which the program may lie; any when unset.")),
  timeoutMs: count.meta(about("Timeout", "Milliseconds for one answer; 10,000 when unset.")),
  noOutputTimeoutMs: count.meta(about("Silence", "Most milliseconds without output; `timeoutMs` when unset.")),
  maxOutputBytes: count.meta(about("Most bytes", "Most bytes of its output; 1 MB when unset.")),
});

/** `security.*` */
export const securityConfig = z.strictObject({
  installPolicy: z
    .strictObject({
      enabled: z
        .boolean()
        .default(false)
        .meta(about("Enabled", "Asks the program before each installation; without one nothing is installed.")),
      targets: z
        .array(z.enum(["skill", "plugin"]))
        .min(1)
        .optional()
        .meta(about("Targets", "What it is asked about; a pack of hooks counts as a plugin. Both when unset.")),
      exec: installProgram
        .optional()
        .meta(about("Program", "Reads a request as JSON and answers `{protocolVersion: 1, decision, reason}`.")),
    })
    .prefault({})
    .meta(about("Installations", "A program of the operator that allows or blocks installations and updates.")),
});

export type InstallPolicy = z.output<typeof securityConfig>["installPolicy"];

export type LoggingConfig = z.output<typeof loggingConfig>;

export { browserConfig } from "../../../browser/config.ts";
export { hooksConfig } from "../../../automation/hooks/config.ts";
export { cronConfig } from "../../../automation/cron/config.ts";
export { broadcastConfig } from "../../../channels/routing/broadcast.ts";
export { budgetsConfig } from "../../../providers/budget/config.ts";
export { mcpConfig } from "../../../mcp/config.ts";
export { memoryConfig } from "../../../tools/memory/config.ts";
