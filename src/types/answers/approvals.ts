import { z } from "zod";
import { keyField } from "../key-field.ts";
import { type Answer, openText } from "../method.ts";

/** Answers that a person can give to a question. */
export const PERSONS_ANSWERS = ["allow-once", "allow-always", "deny"] as const;
export type PersonsAnswer = (typeof PERSONS_ANSWERS)[number];

/** The question of a plugin. */
const pluginWords = z.looseObject({
  title: z.string(),
  description: z.string(),
  severity: z.string(),
  toolName: z.string().nullable(),
  pluginId: z.string().nullable(),
});

/** A question that waits for a person, as `*.approval.list` and the event have it. */
export const shownApproval = z.looseObject({
  id: z.string(),
  approvalKind: z.string().optional(),
  request: z.looseObject({
    ...pluginWords.partial().shape,
    command: z.string(),
    /** Unset for the question of a client. */
    runId: z.string().optional(),
    sessionKey: keyField().optional(),
    agentId: z.string().optional(),
    cwd: z.string().optional(),
    /** Place of the command: `gateway` or `sandbox`. */
    host: z.string().optional(),
    ask: z.string().optional(),
    /** Who asks if not the rules of commands, such as `plugin`. */
    askedBy: z.string().optional(),
    reason: z.string().optional(),
    /** For whom the command runs. */
    principal: z.looseObject({ kind: z.string(), id: z.string(), name: z.string().optional() }).optional(),
    /** Name of the chat. */
    chat: z.string().optional(),
    files: z.array(z.looseObject({ path: z.string() })).default([]),
    variables: z.array(z.string()).default([]),
    allowedDecisions: z.array(z.string()).default([...PERSONS_ANSWERS]),
  }),
  createdAtMs: z.number().optional(),
  expiresAtMs: z.number().optional(),
});

const text = z.string().optional();

/** A command that waits. `commandPreview` and `nodeId` are null: only this machine runs commands. */
const commandFacts = z.looseObject({
  commandText: z.string(),
  commandPreview: z.null(),
  host: z.string(),
  nodeId: z.null(),
  agentId: text,
});

/** `exec-approvals.json` as people and clients see it: without `socket`, which holds a token. */
const approvalsDocument = z.looseObject({
  path: z.string(),
  exists: z.boolean(),
  /** Names the state that a change is for. Blanks between the words of the file make no difference. */
  hash: z.string(),
  file: z.record(z.string(), z.unknown()),
});
export type ShownApprovals = Answer<z.output<typeof approvalsDocument>>;

/** The answers of `exec.approval.*`, `exec.approvals.*` and `plugin.approval.*`. */
export const approvalAnswers = {
  document: approvalsDocument,
  list: z.array(shownApproval),
  /** A command that waits. */
  get: commandFacts.extend({
    id: z.string(),
    allowedDecisions: z.array(z.string()),
    expiresAtMs: z.number(),
  }),
  /** How a question ended; no decision when nobody answered. Or that it was asked, when the client wants two answers. */
  decision: z.looseObject({
    id: z.string(),
    decision: openText<PersonsAnswer>().nullish(),
    status: z.string().optional(),
    deliveryRoute: z.string().optional(),
    createdAtMs: z.number().optional(),
    expiresAtMs: z.number().optional(),
    /** Why the question has ended. */
    terminalReason: z.string().optional(),
  }),
  /** A question, waiting or ended. */
  record: z.looseObject({
    id: z.string(),
    status: z.string(),
    urlPath: z.string(),
    createdAtMs: z.number(),
    expiresAtMs: z.number(),
    presentation: z.discriminatedUnion("kind", [
      pluginWords.extend({ kind: z.literal("plugin"), agentId: text, allowedDecisions: z.array(z.string()) }),
      commandFacts.extend({
        kind: z.literal("exec"),
        warningText: z.null(),
        allowedDecisions: z.array(z.string()),
      }),
    ]),
    source: z.looseObject({ sessionKey: keyField().optional(), agentId: text }).optional(),
    /** Of a question that has ended. */
    resolvedAtMs: z.number().optional(),
    decision: text,
    reason: text,
    resolver: z.looseObject({ kind: z.string(), id: z.string() }).optional(),
  }),
  resolve: z.looseObject({ ok: z.boolean(), id: z.string(), decision: openText<PersonsAnswer>() }),
};
