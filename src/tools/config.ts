import { z } from "zod";
import { ACTIONS } from "./message/fields.ts";
import { about, idList } from "../utils/config.ts";
import { agentExecConfig, execConfig } from "./exec-config.ts";
import { RISKY_USES } from "../types/run/untrusted.ts";
import { webFetchConfig } from "./web/config.ts";
import { webSearchConfig } from "./web/search/config.ts";
import { loopDetectionConfig, ownLoopDetectionConfig } from "./loop-config.ts";

const PROFILES = ["minimal", "coding", "messaging", "full"] as const;

const fs = z.strictObject({
  workspaceOnly: z
    .boolean()
    .default(true)
    .meta(about("Workspace only", "Restricts file tools to the agent's workspace.")),
});

const names = z.array(z.string());

const isOneList = ({ allow: only = [], alsoAllow: more = [] }: Lists): boolean =>
  only.length === 0 || more.length === 0;
const ONE_LIST = "`allow` and `alsoAllow` cannot be set together; put all tools into `allow`";

interface Lists {
  readonly allow?: readonly string[] | undefined;
  readonly alsoAllow?: readonly string[] | undefined;
}

const allow = names
  .optional()
  .meta(about("Allow", "Only these tools: names, `*` wildcards, groups such as `group:fs`. All when empty or unset."));
const alsoAllow = names.optional().meta(about("Also allow", "Tools in addition to `allow`."));
const deny = names.optional().meta(about("Deny", "These tools never."));

/** Lists of tools, as one place of the config has them. */
const lists = { allow, alsoAllow, deny };

/**
 * Lists of tools in a chat, for a sender, in a sandbox. Each list takes tools away from those that the earlier places
 * leave.
 */
export const toolListsConfig = z.strictObject(lists).refine(isOneList, ONE_LIST);

/** Lists of tools by a sender's name. */
export const toolsBySenderConfig = z
  .record(z.string(), toolListsConfig)
  .optional()
  .meta(
    about(
      "Tools by sender",
      "Lists for single senders, by `channel:<channel>:<id>`, `id:`, `e164:`, `username:` or `name:`; the first that " +
        "exists counts, else `*`. Without a prefix it is an id, or with `@` a username. Of several keys for one sender all hold.",
    ),
  );

const byProvider = z
  .record(
    z.string(),
    z
      .strictObject({ ...lists, profile: z.enum(PROFILES).optional().meta(about("Profile", "As in `tools.profile`.")) })
      .refine(isOneList, ONE_LIST),
  )
  .optional()
  .meta(about("Tools by provider", "Lists for models, by `provider/model`, else by `provider`, in any case."));

const inSandbox = z
  .strictObject({
    tools: toolListsConfig
      .optional()
      .meta(
        about(
          "Tools",
          "Lists for runs that are confined to a sandbox. When unset, such a run has file tools, commands, images, " +
            "messages and sessions.",
        ),
      ),
  })
  .optional()
  .meta(about("Sandbox", "Tools in a sandbox."));

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

const spawnFiles = z.strictObject({
  enabled: z.boolean().default(false).meta(about("Enabled", "Lets agents give files to their subagents.")),
  maxFiles: z.int().min(1).max(50).default(50).meta(about("Files", "Most files of one subagent.")),
  maxFileBytes: z.int().min(1).default(1_048_576).meta(about("File size", "Most bytes of one file.")),
  maxTotalBytes: z
    .int()
    .min(1)
    .default(5_242_880)
    .meta(about("Total size", "Most bytes of the files of one subagent.")),
});

const elevatedFrom = z
  .record(z.string(), idList)
  .optional()
  .meta(
    about(
      "Allow from",
      "Who may let commands leave the sandbox, by channel: ids, phone numbers, `id:`, `from:`, `e164:`, `username:`, `name:` or `*`. On a channel without a list these are the owners. Commands of people who are no owners are always asked about.",
    ),
  );

/** `tools.*` */
export const toolsConfig = z
  .strictObject({
    profile: z
      .enum(PROFILES)
      .optional()
      .meta(
        about(
          "Profile",
          "Set of tools that an agent begins with. When unset, all but optional tools of plugins; `full` has those too.",
        ),
      ),
    allow: names
      .prefault([])
      .meta(
        about(
          "Allow",
          "Allows only these tools: names, `*` wildcards, groups such as `group:fs`. All tools of the profile when empty. Cannot be set together with `alsoAllow`.",
        ),
      ),
    alsoAllow: names
      .prefault([])
      .meta(about("Also allow", "Tools in addition to those of the profile, and optional tools of plugins.")),
    deny: names.prefault([]).meta(about("Deny", "Tools that are never available; has priority over everything else.")),
    byProvider,
    toolsBySender: toolsBySenderConfig,
    updatePlan: z
      .boolean()
      .optional()
      .meta(
        about(
          "Plans",
          "Gives agents the tool `update_plan`; true when unset. Has priority over `experimental.planTool`.",
        ),
      ),
    experimental: z
      .strictObject({ planTool: z.boolean().optional().meta(about("Plans", "Older name of `tools.updatePlan`.")) })
      .prefault({})
      .meta(about("Experimental", "Names of older configs.")),
    sandbox: inSandbox,
    elevated: z
      .strictObject({
        enabled: z
          .boolean()
          .default(true)
          .meta(about("Enabled", "Lets people permit commands to leave the sandbox, by `/elevated` or one by one.")),
        allowFrom: elevatedFrom,
      })
      .prefault({})
      .meta(about("Elevated", "Commands outside the sandbox.")),
    exec: execConfig.prefault({}).meta(about("Exec", "Commands on the host.")),
    fs: fs.prefault({}).meta(about("Files", "File tools.")),
    untrusted: z
      .strictObject({
        confirm: z
          .array(z.enum(RISKY_USES))
          .default([...RISKY_USES])
          .meta(
            about(
              "Confirm",
              "What a person has to allow once a conversation has read untrusted content, such as results of MCP servers: `commands` outside of a sandbox, changes of `prompt-files`, `messages` to other chats, and tools of the `network` after files were read.",
            ),
          ),
      })
      .prefault({})
      .meta(about("Untrusted content", "Limits for conversations that have read what others wrote.")),
    loopDetection: loopDetectionConfig
      .prefault({})
      .meta(about("Loop detection", "Ends runs whose model repeats tool calls without progress.")),
    web: z
      .strictObject({
        fetch: webFetchConfig.prefault({}).meta(about("Fetch", "The tool `web_fetch`.")),
        search: webSearchConfig.prefault({}).meta(about("Search", "The tool `web_search`.")),
      })
      .prefault({})
      .meta(about("Web", "Tools that read the web.")),
    message: message.prefault({}).meta(about("Message", "The `message` tool, which acts in chats.")),
    sessions: z
      .strictObject({
        visibility: z
          .enum(["self", "tree", "agent", "all"])
          .default("tree")
          .meta(
            about(
              "Visibility",
              "Sessions that the tools `sessions_*` and `session_status` reach: `self`, `tree` with the session's subagents, `agent` with all of its agent, or `all`. Runs of guests reach no more than `tree`, nor do sandboxed sessions, unless `sandbox.sessionToolsVisibility` is `all`.",
            ),
          ),
      })
      .prefault({})
      .meta(about("Sessions", "Access of agents to other sessions.")),
    agentToAgent: z
      .strictObject({
        enabled: z
          .boolean()
          .default(false)
          .meta(
            about("Enabled", "With `tools.sessions.visibility` set to `all`, lets agents reach sessions of others."),
          ),
        allow: names
          .prefault([])
          .meta(about("Allow", "Agents that may reach each other: ids, or `*`. All when empty.")),
      })
      .prefault({})
      .meta(about("Between agents", "Messages between sessions of different agents.")),
    sessions_spawn: z
      .strictObject({ attachments: spawnFiles.prefault({}).meta(about("Files", "Files for subagents.")) })
      .prefault({})
      .meta(about("Spawn", "The tool `sessions_spawn`.")),
    subagents: z
      .strictObject({ tools: ofSubagents.prefault({}).meta(about("Tools", "Narrows the tools of subagents.")) })
      .prefault({})
      .meta(about("Subagents", "Runs that work for another run.")),
  })
  .refine(isOneList, ONE_LIST);

/**
 * `agents.list[].tools`: its profile and `alsoAllow` replace those of `tools`; every other list takes tools away in
 * addition.
 */
export const agentToolsConfig = z
  .strictObject({
    profile: z.enum(PROFILES).optional().meta(about("Profile", "As in `tools.profile`.")),
    allow: names
      .optional()
      .meta(about("Allow", "As in `tools.allow`; a tool has to be allowed there too, where that list is not empty.")),
    alsoAllow: names.optional().meta(about("Also allow", "As in `tools.alsoAllow`, and in its place.")),
    deny: names.optional().meta(about("Deny", "Tools that are never available, in addition to those of `tools.deny`.")),
    policy: z
      .strictObject({ allow, deny })
      .optional()
      .meta(about("Policy", "Lists of older configs, which take tools away in addition to those beside it.")),
    byProvider,
    toolsBySender: toolsBySenderConfig,
    sandbox: inSandbox,
    elevated: z
      .strictObject({
        enabled: z
          .boolean()
          .optional()
          .meta(
            about("Enabled", "`false` keeps this agent's commands in its sandbox, whatever `tools.elevated` says."),
          ),
        allowFrom: elevatedFrom,
      })
      .optional()
      .meta(about("Elevated", "As in `tools.elevated`; a sender has to be named in both.")),
    subagents: z
      .strictObject({
        tools: toolListsConfig.optional().meta(about("Tools", "As in `tools.subagents.tools`, in addition to it.")),
      })
      .optional()
      .meta(about("Subagents", "Tools of subagents.")),
    exec: agentExecConfig.prefault({}).meta(about("Exec", "As in `tools.exec`.")),
    fs: z
      .strictObject({
        workspaceOnly: z.boolean().optional().meta(about("Workspace only", "As in `tools.fs.workspaceOnly`.")),
      })
      .prefault({})
      .meta(about("Files", "As in `tools.fs`.")),
    loopDetection: ownLoopDetectionConfig
      .prefault({})
      .meta(about("Loop detection", "As in `tools.loopDetection`, which it overrides.")),
  })
  .refine(isOneList, ONE_LIST);

export type ToolsConfig = z.output<typeof toolsConfig>;
export type AgentToolsConfig = z.output<typeof agentToolsConfig>;
