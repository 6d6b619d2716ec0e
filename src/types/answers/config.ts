import { z } from "zod";

/** A remark about a key; the path is empty for the file as a whole. */
const remark = z.looseObject({ path: z.string(), message: z.string() });

const hint = z.looseObject({
  label: z.string().optional(),
  help: z.string().optional(),
  order: z.number().optional(),
  advanced: z.boolean().optional(),
  sensitive: z.boolean().optional(),
});

/** The hint of a key, and whether a change of the key waits for a restart. */
const facts = z.looseObject({
  reloadKind: z.enum(["restart", "hot"]),
  hint: hint.optional(),
  hintPath: z.string().optional(),
});

const written = z.looseObject({ ok: z.boolean(), path: z.string(), hash: z.string(), config: z.unknown() });

const sentinel = z.looseObject({
  persisted: z.boolean(),
  payload: z.looseObject({
    kind: z.string(),
    status: z.string(),
    ts: z.number(),
    message: z.string().nullable(),
    stats: z.looseObject({ mode: z.string(), root: z.string(), requiresRestart: z.boolean() }),
  }),
});

/** The answers of `config.*`. */
export const configAnswers = {
  /** `hash`: of the file's text as it is now; `appliedConfigHash`: of the text that the gateway works with. */
  get: z.looseObject({
    path: z.string().optional(),
    /** Empty: the gateway has no such files. */
    includedPaths: z.array(z.unknown()).optional(),
    includeProvenance: z.array(z.unknown()).optional(),
    agentRosterIncludeOwned: z.boolean().optional(),
    bindingsIncludeOwned: z.boolean().optional(),
    exists: z.boolean().optional(),
    /** Text of the file; null where a comment has a secret. */
    raw: z.string().nullish(),
    /** The file, and its keys with the values in force. */
    parsed: z.unknown().optional(),
    sourceConfig: z.unknown().optional(),
    resolved: z.unknown().optional(),
    valid: z.boolean().optional(),
    /** The config in force. */
    runtimeConfig: z.unknown().optional(),
    config: z.unknown().optional(),
    hash: z.string(),
    issues: z.array(remark).optional(),
    warnings: z.array(remark).optional(),
    legacyIssues: z.array(remark).optional(),
    configRevisionHash: z.string().optional(),
    /** Hash of the text that is in force. */
    appliedConfigHash: z.string().optional(),
  }),
  schema: z.looseObject({
    schema: z.unknown(),
    uiHints: z.record(z.string(), hint),
    version: z.string(),
    generatedAt: z.string(),
  }),
  lookup: facts.extend({
    path: z.string(),
    schema: z.unknown(),
    children: z.array(
      facts.extend({
        key: z.string(),
        path: z.string(),
        type: z.union([z.string(), z.array(z.string())]).optional(),
        required: z.boolean(),
        hasChildren: z.boolean(),
      }),
    ),
  }),
  set: written,
  apply: written.extend({ sentinel }),
  patch: written.extend({
    changed: z.array(z.string()),
    changedPaths: z.array(z.string()),
    noop: z.literal(true).optional(),
    sentinel: sentinel.optional(),
  }),
};

/** The answer of `gateway.restart.preflight`. */
export const preflightAnswer = z.looseObject({
  safe: z.boolean(),
  counts: z.record(z.string(), z.number()),
  blockers: z.array(z.looseObject({ kind: z.string(), count: z.number(), message: z.string() })),
  summary: z.string(),
});
