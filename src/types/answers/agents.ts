import { z } from "zod";
import { type Answer, openText } from "../method.ts";

const text = z.string().exactOptional();
const identity = z.looseObject({ name: text, theme: text, emoji: text, avatar: text });
/** Name, character and looks of an agent, from the config or from `IDENTITY.md`. */
export type Identity = Answer<z.output<typeof identity>>;

const listed = z.looseObject({
  id: z.string(),
  name: text,
  identity: identity.exactOptional(),
  workspace: z.string(),
  /** Models as `provider/model`. */
  model: z.looseObject({ primary: text, fallbacks: z.array(z.string()).exactOptional() }),
  thinkingDefault: z.string(),
  thinkingLevels: z.array(z.looseObject({ id: z.string(), label: z.string() })),
  thinkingOptions: z.array(z.string()),
});

const avatar = z.looseObject({
  /** A picture as a page can show it; unset when none is set, and when it cannot be shown, with the reason. */
  avatar: text,
  avatarSource: text,
  avatarStatus: openText<"none" | "local" | "remote" | "data">(),
  avatarReason: text,
});
export type ShownAvatar = Answer<z.output<typeof avatar>>;

const file = z.looseObject({
  name: z.string(),
  path: z.string(),
  missing: z.boolean(),
  /** Bytes. */
  size: z.number().exactOptional(),
  updatedAtMs: z.number().exactOptional(),
  /** SHA-256 of the content, where the answer has it. */
  hash: text,
  content: text,
});
/** A file of a workspace that goes into the system prompt, in the protocol's names. */
export type ContextFileFacts = Answer<z.output<typeof file>>;

const ok = z.boolean();
const agentId = z.string();
const workspace = z.string();

/** The answers of `agents.*` and `agent.identity.get`. */
export const agentsAnswers = {
  list: z.looseObject({
    defaultId: z.string(),
    mainKey: z.string(),
    scope: z.string(),
    agents: z.array(listed),
  }),
  identity: avatar.extend({ agentId, name: text, nameSource: text, emoji: text }),
  files: z.looseObject({ agentId, workspace, files: z.array(file) }),
  file: z.looseObject({ agentId, workspace, file }),
  fileSet: z.looseObject({ ok, agentId, workspace, file }),
  create: z.looseObject({ ok, agentId, name: z.string(), workspace, model: text }),
  update: z.looseObject({ ok, agentId }),
  /** The results for the agent's folders. */
  delete: z.looseObject({
    ok,
    agentId,
    removedBindings: z.number(),
    /** `method`: `trash`, or `missing` for a folder that was not there. */
    removed: z.array(z.looseObject({ path: z.string(), method: z.string() })).default([]),
    failed: z.array(z.looseObject({ path: z.string(), reason: z.string() })).default([]),
  }),
};
export type AgentDeleted = z.output<typeof agentsAnswers.delete>;
