import { z } from "zod";
import { about, idList } from "../utils/config.ts";

const PROFILES = ["minimal", "coding", "messaging", "full"] as const;
const SECURITY = ["deny", "allowlist", "full"] as const;
const ASK = ["off", "on-miss", "always"] as const;

const exec = z.strictObject({
  security: z
    .enum(SECURITY)
    .default("allowlist")
    .meta(about("Security", "`deny` runs no command, `allowlist` what is allowed or was approved, `full` everything.")),
  ask: z
    .enum(ASK)
    .default("on-miss")
    .meta(
      about(
        "Ask",
        "When a person is asked: never, when the command is not allowed yet, or always. Nobody there means no.",
      ),
    ),
  timeoutSec: z.int().min(1).max(2_000_000).default(600).meta(about("Timeout", "Seconds a command may take.")),
  safeBins: z
    .array(z.string())
    .prefault([])
    .meta(
      about(
        "Safe programs",
        "Further programs that run without asking when they only read standard input: no interpreters, and no options that may name a file.",
      ),
    ),
  pathPrepend: z.array(z.string()).prefault([]).meta(about("Path", "Directories put before `PATH` for commands.")),
  passEnv: z
    .array(z.string())
    .prefault([])
    .meta(
      about(
        "Environment",
        "Names of further environment variables that commands get, such as `SSH_AUTH_SOCK`; never one that the config references, or whose value is one of its secrets.",
      ),
    ),
});

const fs = z.strictObject({
  workspaceOnly: z
    .boolean()
    .default(true)
    .meta(about("Workspace only", "File tools refuse paths outside the agent's workspace.")),
});

const names = z.array(z.string());

const ACTIONS = ["send", "react", "edit", "delete"] as const;

const message = z.strictObject({
  actions: z
    .strictObject({
      allow: z
        .array(z.enum(ACTIONS))
        .prefault([...ACTIONS])
        .meta(about("Allow", "What the tool may do, where the platform can.")),
    })
    .prefault({})
    .meta(about("Actions", "What the tool may do.")),
  allowTargets: idList
    .prefault([])
    .meta(
      about(
        "Targets",
        "Chats that any conversation may write to beside its own: `channel:id`, `channel:*`, an id, or `*`. Owners may write to all.",
      ),
    ),
  mediaHosts: z
    .array(z.string())
    .prefault([])
    .meta(
      about(
        "Media hosts",
        "Hosts, with their subdomains, from which any conversation may send files by their web address; `*` is every public host. Owners may from all.",
      ),
    ),
  allowCrossContextSend: z
    .boolean()
    .default(false)
    .meta(about("Cross context", "Any conversation may write to any chat; stands for both keys of `crossContext`.")),
  crossContext: z
    .strictObject({
      allowWithinProvider: z
        .boolean()
        .default(false)
        .meta(about("Within a channel", "Any conversation may write to other chats of its own channel.")),
      allowAcrossProviders: z
        .boolean()
        .default(false)
        .meta(about("Across channels", "Any conversation may write to chats of other channels.")),
    })
    .prefault({})
    .meta(about("Cross context", "Chats other than the one that is answered.")),
});

/** `tools.*` */
export const toolsConfig = z.strictObject({
  profile: z.enum(PROFILES).default("full").meta(about("Profile", "Set of tools to begin with.")),
  allow: names
    .prefault([])
    .meta(
      about(
        "Allow",
        "Only these tools (names, `*` wildcards, `group:fs` and the like); all of the profile when empty.",
      ),
    ),
  alsoAllow: names.prefault([]).meta(about("Also allow", "Tools beside those of the profile.")),
  deny: names.prefault([]).meta(about("Deny", "Tools that are never there; wins over everything else.")),
  exec: exec.prefault({}).meta(about("Exec", "Commands on the host.")),
  fs: fs.prefault({}).meta(about("Files", "File tools.")),
  message: message.prefault({}).meta(about("Message", "The `message` tool, which acts in chats.")),
});

/** `agents.list[].tools`: what is set here takes the place of `tools`; denials add up. */
export const agentToolsConfig = z.strictObject({
  profile: z.enum(PROFILES).optional().meta(about("Profile", "As in `tools.profile`.")),
  allow: names.optional().meta(about("Allow", "As in `tools.allow`.")),
  alsoAllow: names.optional().meta(about("Also allow", "As in `tools.alsoAllow`.")),
  deny: names.optional().meta(about("Deny", "Added to `tools.deny`.")),
  exec: z
    .strictObject({
      security: z.enum(SECURITY).optional().meta(about("Security", "As in `tools.exec.security`.")),
      ask: z.enum(ASK).optional().meta(about("Ask", "As in `tools.exec.ask`.")),
      timeoutSec: z.int().min(1).max(2_000_000).optional().meta(about("Timeout", "As in `tools.exec.timeoutSec`.")),
      safeBins: names.optional().meta(about("Safe programs", "As in `tools.exec.safeBins`.")),
      pathPrepend: names.optional().meta(about("Path", "As in `tools.exec.pathPrepend`.")),
      passEnv: names.optional().meta(about("Environment", "As in `tools.exec.passEnv`.")),
    })
    .prefault({})
    .meta(about("Exec", "As in `tools.exec`.")),
  fs: z
    .strictObject({
      workspaceOnly: z.boolean().optional().meta(about("Workspace only", "As in `tools.fs.workspaceOnly`.")),
    })
    .prefault({})
    .meta(about("Files", "As in `tools.fs`.")),
});

export type ToolsConfig = z.output<typeof toolsConfig>;
export type AgentToolsConfig = z.output<typeof agentToolsConfig>;
