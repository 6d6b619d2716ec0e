import { z } from "zod";
import { internalHooksConfig } from "../../plugins/internal-hooks/config.ts";
import { about, secretField } from "../../utils/config.ts";
import { gmailConfig } from "./gmail-config.ts";

const word = z.string().min(1);

const match = z.strictObject({
  path: word.optional().meta(about("Path", "The part of the address after the path of hooks, such as `github`.")),
  source: word.optional().meta(about("Source", "Value of the field `source` of the request's body.")),
});

const transform = z.strictObject({
  module: word.meta(about("Module", "A JavaScript module in `hooks.transformsDir`.")),
  export: word
    .optional()
    .meta(about("Export", "Name of the function; the default export, or `transform`, when unset.")),
});

const verify = z.strictObject({
  header: word.meta(about("Header", "Header with the signature, such as `x-hub-signature-256` or `stripe-signature`.")),
  secret: secretField.meta(about("Secret", "What the sender signs its requests with (HMAC-SHA256).")),
});

const mapping = z
  .strictObject({
    id: word.optional().meta(about("Id", "Names the mapping in logs.")),
    match: match
      .prefault({})
      .meta(about("Which requests", "Requests that this mapping is for; the first that fits counts.")),
    action: z
      .enum(["agent", "wake"])
      .default("agent")
      .meta(about("Action", "`agent`: a turn of its own. `wake`: a text for the main conversation.")),
    wakeMode: z
      .enum(["now", "next-heartbeat"])
      .default("now")
      .meta(about("When", "Of a `wake`: at once, or with the conversation's next turn.")),
    name: word.optional().meta(about("Name", "How the source is called in prompts and logs.")),
    agentId: word.optional().meta(about("Agent", "The agent that gets it; the default agent when unset.")),
    sessionKey: word.optional().meta(about("Conversation", "Its conversation; may be a template.")),
    sessionMode: z
      .enum(["isolated", "persistent"])
      .optional()
      .meta(
        about("History", "`persistent`: the conversation keeps its history, as it does by default when it is named."),
      ),
    messageTemplate: word.optional().meta(about("Message", "Text of a turn. `{{field}}` is a field of the body.")),
    textTemplate: word.optional().meta(about("Text", "Text of a `wake`, in the same way.")),
    forEach: word.optional().meta(about("For each", "Name of a list of the body: each item is a request of its own.")),
    deliver: z.boolean().default(true).meta(about("Deliver", "Sends the answer to a chat.")),
    channel: word
      .default("last")
      .meta(about("Channel", "Channel of the chat; `last` is the one in which an owner last wrote.")),
    to: word.optional().meta(about("Chat", "The chat.")),
    model: word.optional().meta(about("Model", "Model of the turn.")),
    thinking: z
      .enum(["off", "minimal", "low", "medium", "high", "xhigh"])
      .optional()
      .meta(about("Thinking", "How much the model thinks.")),
    timeoutSeconds: z.number().min(1).max(86_400).optional().meta(about("Timeout", "Most seconds of the turn.")),
    allowUnsafeExternalContent: z
      .boolean()
      .default(false)
      .meta(
        about(
          "Trust",
          "Gives the text to the model without the marks of untrusted content. For sources of your own only.",
        ),
      ),
    transform: transform.optional().meta(about("Transform", "Code that changes the request first.")),
    verify: verify.optional().meta(about("Signature", "Requests are signed and need no token.")),
  })
  .refine(({ match: { path, source } }) => path !== undefined || source !== undefined, {
    path: ["match"],
    message: "name a path or a source",
  });

/** `hooks.*` */
export const hooksConfig = z
  .strictObject({
    enabled: z.boolean().default(false).meta(about("Enabled", "Takes requests of other programs that wake agents.")),
    token: secretField
      .optional()
      .meta(about("Token", "What callers show as a bearer. It must not be the gateway's own token.")),
    path: z
      .string()
      .regex(/^(\/[A-Za-z0-9_.~-]+)+$/, "write it as /hooks")
      .default("/hooks")
      .meta(about("Path", "Where requests are taken: below this path are `wake`, `agent` and the mappings.")),
    defaultSessionKey: word
      .optional()
      .meta(about("Conversation", "Conversation of requests that name none; one of its own for each when unset.")),
    allowRequestSessionKey: z
      .boolean()
      .default(false)
      .meta(about("Own conversations", "Requests may name their conversation.")),
    allowedSessionKeyPrefixes: z
      .array(word)
      .prefault([])
      .meta(about("Prefixes", "How a conversation that a request or a template names must begin; any when empty.")),
    allowedAgentIds: z
      .array(word)
      .optional()
      .meta(about("Agents", "The agents that requests may name; `*` for all, and all when unset.")),
    maxBodyBytes: z
      .int()
      .min(1)
      .max(16_777_216)
      .default(262_144)
      .meta(about("Size", "Most bytes of a request's body.")),
    presets: z
      .array(z.enum(["gmail"]))
      .prefault([])
      .meta(about("Presets", "Mappings that are built in.")),
    transformsDir: word
      .optional()
      .meta(about("Folder of transforms", "`hooks/transforms` beside the config when unset.")),
    mappings: z
      .array(mapping)
      .prefault([])
      .meta(about("Mappings", "What requests to other addresses below the path do.")),
    gmail: gmailConfig.prefault({}).meta(about("Gmail", "Watches a mail account, and wakes an agent for new mail.")),
    internal: internalHooksConfig
      .prefault({})
      .meta(about("Hooks of the gateway", "Code that is called when something happens in the gateway.")),
  })
  .refine(({ enabled, token }) => !enabled || token !== undefined, {
    path: ["token"],
    message: "hooks need a token: a long random text that their callers show",
  });

export type HooksConfig = z.output<typeof hooksConfig>;
export type HookMapping = HooksConfig["mappings"][number];
