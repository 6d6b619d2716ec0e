import { z } from "zod";

const model = z.looseObject({ provider: z.string(), id: z.string() });
const usage = z.looseObject({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  cost: z.looseObject({ total: z.number() }),
});

const tried = z.looseObject({
  model,
  profile: z.string().optional(),
  thinking: z.string(),
  messages: z.number(),
  estimatedTokens: z.number(),
  durationMs: z.number(),
  outcome: z.string(),
  message: z.string().optional(),
  remedy: z.string().optional(),
});
const skipped = z.looseObject({ model, profile: z.string().optional(), why: z.string() });
const tool = z.looseObject({ name: z.string(), calls: z.number(), failed: z.number(), ms: z.number() });
const part = z.looseObject({ name: z.string(), source: z.string(), tokens: z.number(), text: z.string().optional() });

const file = z.looseObject({
  kind: z.string(),
  name: z.string().optional(),
  tries: z.number(),
  durationMs: z.number(),
  bytes: z.number().optional(),
  why: z.string().optional(),
});

const receipt = z.looseObject({
  model,
  usage,
  calls: z.number(),
  durationMs: z.number(),
  profile: z.string().optional(),
  engine: z.string().optional(),
  engineDegraded: z.string().optional(),
  trigger: z.string().optional(),
  plugin: z.string().optional(),
  principal: z
    .looseObject({
      kind: z.string(),
      id: z.string(),
      name: z.string().optional(),
      setUpBy: z.string().optional(),
    })
    .optional(),
  candidates: z.array(model).optional(),
  tries: z.array(tried).optional(),
  skipped: z.array(skipped).optional(),
  tools: z.array(tool).optional(),
  lastToolError: z
    .looseObject({ toolName: z.string(), meta: z.string().optional(), error: z.string().optional() })
    .optional(),
  untrusted: z.array(z.looseObject({ tool: z.string(), source: z.string() })).optional(),
  unasked: z.array(z.looseObject({ cause: z.string(), calls: z.number() })).optional(),
  removed: z.array(z.looseObject({ tool: z.string(), stage: z.string(), key: z.string() })).optional(),
  notAttached: z.array(z.looseObject({ file: z.string(), why: z.string() })).optional(),
  compactions: z.number().optional(),
  files: z.array(file).optional(),
  beside: z
    .array(
      z.looseObject({
        what: z.string(),
        plugin: z.string().optional(),
        tool: z.string().optional(),
        model,
        calls: z.number(),
        usage,
      }),
    )
    .optional(),
  steered: z.array(z.array(part)).optional(),
  prompt: z
    .looseObject({
      systemParts: z.array(part),
      budget: z
        .looseObject({
          contextWindow: z.number(),
          reserveResponse: z.number(),
          reserveTools: z.number(),
          systemPrompt: z.number(),
          event: z.number(),
          history: z.number(),
        })
        .optional(),
      bodyParts: z.array(part),
      tools: z.array(z.string()),
      messages: z.number(),
      estimatedTokens: z.number(),
    })
    .optional(),
});

const runShape = z.looseObject({
  runId: z.string(),
  sessionKey: z.string(),
  at: z.number(),
  result: z.string(),
  receipt,
});

const cameIn = z.looseObject({
  id: z.number(),
  channel: z.string(),
  chat: z.string(),
  messageId: z.string(),
  sender: z.string(),
  state: z.string(),
  outcome: z.looseObject({ kind: z.string(), why: z.string().optional() }).optional(),
});
const wentOut = z.looseObject({
  id: z.number(),
  channel: z.string(),
  chat: z.string(),
  kind: z.string(),
  state: z.string(),
  attempts: z.number(),
  messageId: z.string().optional(),
  error: z.string().optional(),
});

export const runsShape = z.looseObject({ runs: z.array(runShape) });
export const wholeRunShape = z.looseObject({ run: runShape, inbox: z.array(cameIn), outbox: z.array(wentOut) });

const content = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  thinking: z.string().optional(),
  id: z.string().optional(),
  name: z.string().optional(),
  arguments: z.unknown().optional(),
  mimeType: z.string().optional(),
  bytes: z.number().optional(),
});
const message = z.looseObject({
  role: z.string(),
  entryId: z.string().optional(),
  tokens: z.number(),
  content: z.array(content),
  toolName: z.string().optional(),
  toolCallId: z.string().optional(),
  isError: z.boolean().optional(),
});
export const promptShape = z.looseObject({
  runId: z.string(),
  system: z.array(part),
  messages: z.array(message),
  tools: z.array(z.string()),
  toolTokens: z.number().optional(),
  bodyParts: z.array(part),
  imageFiles: z.array(z.string()).default([]),
  faithful: z.boolean(),
  why: z.string().optional(),
});

export type RunLine = z.infer<typeof runShape>;
export type ShownReceipt = z.infer<typeof receipt>;
export type WholeRun = z.infer<typeof wholeRunShape>;
export type RunPrompt = z.infer<typeof promptShape>;
export type RunPart = z.infer<typeof part>;
export type RunMessage = z.infer<typeof message>;
export type RunContent = z.infer<typeof content>;
