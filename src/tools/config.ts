import { z } from "zod";
import { about, idList } from "../utils/config.ts";
import { loopDetectionConfig, ownLoopDetectionConfig } from "./loop-config.ts";

const PROFILES = ["minimal", "coding", "messaging", "full"] as const;
const SECURITY = ["deny", "allowlist", "full"] as const;
const ASK = ["off", "on-miss", "always"] as const;

const exec = z.strictObject({
  security: z
    .enum(SECURITY)
    .default("allowlist")
    .meta(
      about(
        "Security",
        "`deny` runs no command, `allowlist` runs allowed and approved commands, `full` runs every command.",
      ),
    ),
  ask: z
    .enum(ASK)
    .default("on-miss")
    .meta(
      about(
        "Ask",
        "When a command needs an approval: never, when it is not allowed yet, or always. No answer is a denial.",
      ),
    ),
  timeoutSec: z.int().min(1).max(2_000_000).default(600).meta(about("Timeout", "Most seconds of one command.")),
  safeBins: z
    .array(z.string())
    .prefault([])
    .meta(
      about(
        "Safe programs",
        "Additional programs that run without an approval when they only read standard input. Interpreters, and options that may name a file, still need one.",
      ),
    ),
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
});

const fs = z.strictObject({
  workspaceOnly: z
    .boolean()
    .default(true)
    .meta(about("Workspace only", "Restricts file tools to the agent's workspace.")),
});

const names = z.array(z.string());

const ACTIONS = ["send", "react", "edit", "delete"] as const;

const message = z.strictObject({
  actions: z
    .strictObject({
      allow: z
        .array(z.enum(ACTIONS))
        .prefault([...ACTIONS])
        .meta(about("Allow", "Actions that the tool may take, where the platform supports them.")),
    })
    .prefault({})
    .meta(about("Actions", "Actions of the tool.")),
  allowTargets: idList
    .prefault([])
    .meta(
      about(
        "Targets",
        "Chats that any conversation may write to in addition to its own: `channel:id`, `channel:*`, an id, or `*`. Owners may write to all.",
      ),
    ),
  mediaHosts: z
    .array(z.string())
    .prefault([])
    .meta(
      about(
        "Media hosts",
        "Hosts (with subdomains) from which any conversation may send files by web address; `*` means every public host. Owners may use all hosts.",
      ),
    ),
  allowCrossContextSend: z
    .boolean()
    .default(false)
    .meta(about("Cross context", "Lets any conversation write to any chat; sets both keys of `crossContext`.")),
  crossContext: z
    .strictObject({
      allowWithinProvider: z
        .boolean()
        .default(false)
        .meta(about("Within a channel", "Lets any conversation write to other chats of its own channel.")),
      allowAcrossProviders: z
        .boolean()
        .default(false)
        .meta(about("Across channels", "Lets any conversation write to chats of other channels.")),
    })
    .prefault({})
    .meta(about("Cross context", "Access to chats other than the one that is answered.")),
});

const ofSubagents = z.strictObject({
  allow: names
    .prefault([])
    .meta(about("Allow", "Of the agent's tools a subagent has only these; all of them when empty.")),
  alsoAllow: names.prefault([]).meta(about("Also allow", "Tools in addition to `allow`, where that is not empty.")),
  deny: names.prefault([]).meta(about("Deny", "Tools that a subagent never has.")),
});

/** `tools.*` */
export const toolsConfig = z.strictObject({
  profile: z.enum(PROFILES).default("full").meta(about("Profile", "Set of tools that an agent begins with.")),
  allow: names
    .prefault([])
    .meta(
      about(
        "Allow",
        "Allows only these tools: names, `*` wildcards, groups such as `group:fs`. All tools of the profile when empty.",
      ),
    ),
  alsoAllow: names.prefault([]).meta(about("Also allow", "Tools in addition to those of the profile.")),
  deny: names.prefault([]).meta(about("Deny", "Tools that are never available; has priority over everything else.")),
  exec: exec.prefault({}).meta(about("Exec", "Commands on the host.")),
  fs: fs.prefault({}).meta(about("Files", "File tools.")),
  loopDetection: loopDetectionConfig
    .prefault({})
    .meta(about("Loop detection", "Ends runs whose model repeats tool calls without progress.")),
  message: message.prefault({}).meta(about("Message", "The `message` tool, which acts in chats.")),
  subagents: z
    .strictObject({ tools: ofSubagents.prefault({}).meta(about("Tools", "Narrows the tools of subagents.")) })
    .prefault({})
    .meta(about("Subagents", "Runs that work for another run.")),
});

/** `agents.list[].tools`: what is set here takes the place of `tools`; denials add up. */
export const agentToolsConfig = z.strictObject({
  profile: z.enum(PROFILES).optional().meta(about("Profile", "As in `tools.profile`.")),
  allow: names.optional().meta(about("Allow", "As in `tools.allow`.")),
  alsoAllow: names.optional().meta(about("Also allow", "As in `tools.alsoAllow`.")),
  deny: names.optional().meta(about("Deny", "Tools that are never available, in addition to those of `tools.deny`.")),
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
  loopDetection: ownLoopDetectionConfig
    .prefault({})
    .meta(about("Loop detection", "As in `tools.loopDetection`, which it overrides.")),
});

export type ToolsConfig = z.output<typeof toolsConfig>;
export type AgentToolsConfig = z.output<typeof agentToolsConfig>;
