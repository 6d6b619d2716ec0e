import { z } from "zod";
import { about } from "../utils/config.ts";
import { EXEC_MODES, isOneExecForm } from "./exec-mode.ts";

const SECURITY = ["deny", "allowlist", "full"] as const;
const ASK = ["off", "on-miss", "always"] as const;

const ONE_FORM =
  "`mode` cannot be set together with `security` or `ask`; `ask` is the same as security allowlist with ask on-miss";

const mode = z.enum(EXEC_MODES).optional();

const HOSTS = ["auto", "sandbox", "gateway", "node"] as const;

const names = z.array(z.string());

const safeBinProfile = z.strictObject({
  minPositional: z.int().min(0).optional().meta(about("Least words", "Fewest words that are no flags; 0 when unset.")),
  maxPositional: z.int().min(0).optional().meta(about("Most words", "Most words that are no flags; 0 when unset.")),
  allowedValueFlags: z
    .array(z.string())
    .optional()
    .meta(about("Flags with a value", "Flags that may have a value, which must not look like a path, such as `-n`.")),
  deniedFlags: z.array(z.string()).optional().meta(about("Denied flags", "Flags that need an approval.")),
});

const safeBinProfiles = z.record(z.string(), safeBinProfile);

const PATCH_TEXTS = {
  applyPatch: about("Patches", "The tool `apply_patch`, which changes several files by one patch."),
  enabled: about("Enabled", "Gives agents the tool, if `write` is allowed."),
  workspaceOnly: about(
    "Workspace only",
    "Restricts the tool to the workspace, even if `tools.fs.workspaceOnly` is off.",
  ),
  allowModels: about("Models", "Models that have the tool: `provider/model`, `provider/*` or an id. All when empty."),
};

const applyPatch = z.strictObject({
  enabled: z.boolean().default(true).meta(PATCH_TEXTS.enabled),
  workspaceOnly: z.boolean().default(true).meta(PATCH_TEXTS.workspaceOnly),
  allowModels: names.prefault([]).meta(PATCH_TEXTS.allowModels),
});

const ownApplyPatch = z.strictObject({
  enabled: z.boolean().optional().meta(about("Enabled", "As in `tools.exec.applyPatch.enabled`.")),
  workspaceOnly: z.boolean().optional().meta(about("Workspace only", "As in `tools.exec.applyPatch.workspaceOnly`.")),
  allowModels: names.optional().meta(about("Models", "As in `tools.exec.applyPatch.allowModels`.")),
});

/** `tools.exec.*` */
export const execConfig = z
  .strictObject({
    host: z
      .enum(HOSTS)
      .default("auto")
      .meta(
        about(
          "Host",
          "Where commands run: in the sandbox if the session has one (`auto`), always in it, or always on the machine (`gateway`). `node` stops the agent: there are no other machines yet.",
        ),
      ),
    mode: mode.meta(
      about(
        "Mode",
        "`security` and `ask` in one word: `deny` runs none, `allowlist` only listed commands, `ask` asks about the others, `full` runs all. `auto` is `ask`: no model reviews commands.",
      ),
    ),
    security: z
      .enum(SECURITY)
      .optional()
      .meta(
        about(
          "Security",
          "`deny` runs no command, `allowlist` runs allowed and approved commands, `full` runs every command; `allowlist` when unset.",
        ),
      ),
    ask: z
      .enum(ASK)
      .optional()
      .meta(
        about(
          "Ask",
          "When a command needs an approval: never, when it is not allowed yet, or always; `on-miss` when unset. No answer is a denial.",
        ),
      ),
    askFallback: z
      .enum(SECURITY)
      .default("deny")
      .meta(
        about(
          "Without an answer",
          "What happens when nobody answers in time: `deny` runs nothing, `allowlist` runs allowed commands, `full` runs the command.",
        ),
      ),
    strictInlineEval: z
      .boolean()
      .default(true)
      .meta(
        about(
          "Inline code",
          "Code on a command line (`python3 -c`, `sed`, `make`) needs an approval each time, whatever `exec-approvals.json` allows.",
        ),
      ),
    timeoutSec: z
      .int()
      .min(0)
      .max(2_000_000)
      .default(600)
      .meta(
        about(
          "Timeout",
          "Most seconds of one command; 0 for no limit. A command that is started in the background may ask for none.",
        ),
      ),
    timeoutSeconds: z
      .int()
      .min(0)
      .max(2_000_000)
      .optional()
      .meta(about("Timeout", "Another name for `timeoutSec`; has priority over it.")),
    backgroundMs: z
      .int()
      .min(10)
      .max(120_000)
      .default(10_000)
      .meta(about("Background", "Milliseconds after which a command that still runs is moved to the background.")),
    cleanupMs: z
      .int()
      .min(60_000)
      .max(10_800_000)
      .default(1_800_000)
      .meta(about("Cleanup", "Milliseconds for which the output of a finished background command can be read.")),
    notifyOnExit: z
      .boolean()
      .default(true)
      .meta(about("Notify on exit", "Wakes a conversation when one of its background commands ends by itself.")),
    notifyOnExitEmptySuccess: z
      .boolean()
      .default(false)
      .meta(about("Notify on empty success", "Does so also for a command that succeeded without any output.")),
    safeBins: z
      .array(z.string())
      .prefault([])
      .meta(
        about(
          "Safe programs",
          "Additional programs that run without an approval when they only read standard input. Interpreters, options that may name a file, and unknown programs or scripts that may start others still need one; `safeBinProfiles` can allow the last of these.",
        ),
      ),
    safeBinProfiles: safeBinProfiles
      .prefault({})
      .meta(about("Profiles", "With which arguments a program of `safeBins` runs without an approval, by its name.")),
    safeBinTrustedDirs: z
      .array(z.string())
      .prefault(["/bin", "/usr/bin"])
      .meta(about("Trusted directories", "Directories that a program of `safeBins` must lie in.")),
    pathPrepend: z
      .array(z.string())
      .prefault([])
      .meta(about("Path", "Directories that commands have before the others in `PATH`.")),
    passEnv: z
      .array(z.string())
      .prefault([])
      .meta(
        about(
          "Environment",
          "Names of additional environment variables for commands, such as `SSH_AUTH_SOCK`. A variable that the config references, or whose value is one of its secrets, is never passed.",
        ),
      ),
    applyPatch: applyPatch.prefault({}).meta(PATCH_TEXTS.applyPatch),
  })
  .refine(isOneExecForm, ONE_FORM);

/** `agents.list[].tools.exec`: its keys replace those of `tools.exec`. */
export const agentExecConfig = z
  .strictObject({
    host: z.enum(HOSTS).optional().meta(about("Host", "As in `tools.exec.host`.")),
    mode: mode.meta(about("Mode", "As in `tools.exec.mode`.")),
    security: z.enum(SECURITY).optional().meta(about("Security", "As in `tools.exec.security`.")),
    ask: z.enum(ASK).optional().meta(about("Ask", "As in `tools.exec.ask`.")),
    timeoutSec: z.int().min(0).max(2_000_000).optional().meta(about("Timeout", "As in `tools.exec.timeoutSec`.")),
    timeoutSeconds: z
      .int()
      .min(0)
      .max(2_000_000)
      .optional()
      .meta(about("Timeout", "As in `tools.exec.timeoutSeconds`.")),
    backgroundMs: z.int().min(10).max(120_000).optional().meta(about("Background", "As in `tools.exec.backgroundMs`.")),
    cleanupMs: z.int().min(60_000).max(10_800_000).optional().meta(about("Cleanup", "As in `tools.exec.cleanupMs`.")),
    notifyOnExit: z.boolean().optional().meta(about("Notify on exit", "As in `tools.exec.notifyOnExit`.")),
    notifyOnExitEmptySuccess: z
      .boolean()
      .optional()
      .meta(about("Notify on empty success", "As in `tools.exec.notifyOnExitEmptySuccess`.")),
    safeBins: names.optional().meta(about("Safe programs", "As in `tools.exec.safeBins`.")),
    askFallback: z.enum(SECURITY).optional().meta(about("Without an answer", "As in `tools.exec.askFallback`.")),
    strictInlineEval: z.boolean().optional().meta(about("Inline code", "As in `tools.exec.strictInlineEval`.")),
    safeBinProfiles: safeBinProfiles.optional().meta(about("Profiles", "As in `tools.exec.safeBinProfiles`.")),
    safeBinTrustedDirs: names.optional().meta(about("Trusted directories", "As in `tools.exec.safeBinTrustedDirs`.")),
    pathPrepend: names.optional().meta(about("Path", "As in `tools.exec.pathPrepend`.")),
    passEnv: names.optional().meta(about("Environment", "As in `tools.exec.passEnv`.")),
    applyPatch: ownApplyPatch.prefault({}).meta(about("Patches", "As in `tools.exec.applyPatch`.")),
  })
  .refine(isOneExecForm, ONE_FORM);
