import { z } from "zod";
import { keyField } from "../key-field.ts";
import { type Answer, openText } from "../method.ts";

/** The answers of `chat.send`, `chat.abort` and `chat.inject`. */
export const chatAnswers = {
  /** `in_flight` and `ok`: the message was sent before, and its run is active or over. */
  send: z.looseObject({ runId: z.string(), status: openText<"started" | "in_flight" | "ok">() }),
  abort: z.looseObject({ ok: z.boolean(), aborted: z.boolean(), runIds: z.array(z.string()) }),
  inject: z.looseObject({ ok: z.boolean(), messageId: z.string() }),
};

export type Sent = Answer<z.output<typeof chatAnswers.send>>;

/** The answers of `agent` and `agent.wait`. */
export const agentAnswers = {
  start: z.looseObject({
    runId: z.string(),
    /** `accepted` first; `ok` in the second answer. */
    status: z.string(),
    acceptedAt: z.number().optional(),
    sessionKey: keyField().optional(),
    agentId: z.string().optional(),
    /** Of the second answer: `completed` or `aborted`. */
    summary: z.string().optional(),
    result: z
      .looseObject({
        payloads: z.array(z.looseObject({ text: z.string(), mediaUrl: z.null() })),
        meta: z.looseObject({
          durationMs: z.number(),
          aborted: z.boolean(),
          agentMeta: z.looseObject({
            sessionId: z.string().optional(),
            provider: z.string(),
            model: z.string(),
            usage: z.unknown(),
          }),
        }),
      })
      .optional(),
  }),
  wait: z.looseObject({
    runId: z.string().optional(),
    status: z.string(),
    startedAt: z.number().optional(),
    endedAt: z.number().optional(),
    stopReason: z.string().optional(),
    text: z.string().optional(),
    error: z.string().optional(),
  }),
};

/** The answer of `commands.list`. */
export const commandsAnswer = z.looseObject({
  commands: z.array(
    z.looseObject({
      name: z.string(),
      /** The names with which a message may begin, with the slash. */
      textAliases: z.array(z.string()),
      description: z.string(),
      /** `options`: the command may also be a word of a message. */
      category: z.string().optional(),
      source: openText<"native" | "skill" | "plugin">(),
      acceptsArgs: z.boolean(),
      scope: z.string().optional(),
      args: z
        .array(
          z.looseObject({
            name: z.string(),
            description: z.string().optional(),
            type: z.string().optional(),
            choices: z.array(z.looseObject({ value: z.string(), label: z.string().optional() })),
          }),
        )
        .optional(),
    }),
  ),
});
export type ShownCommands = Answer<z.output<typeof commandsAnswer>>;
