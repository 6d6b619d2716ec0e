import { z } from "zod";
import { problemText } from "../../../channels/connection/problem-text.ts";
import type { OutboxRow } from "../../../types/journal.ts";
import type { Peer } from "../../../types/chat/message.ts";
import { sendAnswer, type SendReport } from "../../../types/answers/channels.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { blocksOf, deliverAndWait, targetPeer, type Outgoing } from "../../outgoing.ts";
import type { Parts } from "../parts/parts.ts";

const text = z.string().min(1);

const sendParams = z.looseObject({
  to: text,
  message: z.string().optional(),
  mediaUrl: text.optional(),
  mediaUrls: z.array(text).max(10).optional(),
  /** A file as base64. */
  buffer: z.base64().optional(),
  filename: text.optional(),
  /** More web addresses. */
  files: z
    .array(z.looseObject({ buffer: z.base64(), filename: text.optional() }))
    .max(10)
    .optional(),
  asVoice: z.boolean().optional(),
  channel: text.optional(),
  accountId: text.optional(),
  replyToId: text.optional(),
  threadId: text.optional(),
  /** Without a notification sound; if the platform does not support that, the answer has `silent: false`. */
  silent: z.boolean().optional(),
  idempotencyKey: text.max(200),
  /** Checks whether it could be sent, and does not send it. */
  dryRun: z.boolean().optional(),
  /** A refusal of the platform becomes an answer with the state `failed` instead of an error. */
  tellFailure: z.boolean().optional(),
  /** Milliseconds to wait for the platform; after that the answer has the state `queued`. */
  timeoutMs: z.int().min(0).max(120_000).default(20_000),
});

const actionParams = z.looseObject({
  channel: text,
  action: text,
  params: z.record(z.string(), z.unknown()),
  accountId: text.optional(),
  reply: z.looseObject({ replyToId: text }).optional(),
  idempotencyKey: text.max(200),
});

const unknownAction = (action: string): MethodError =>
  new MethodError(
    "INVALID_REQUEST",
    `clients can only send and poll, not ${action}: the tool message does that in a conversation`,
    {
      details: { code: "MESSAGE_ACTION_UNSUPPORTED", action },
    },
  );

/** The parameters of `send`, from those of the field's message tool. */
function sentBy(params: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { target, media, path, filePath, ...rest } = params;
  const file = media ?? path ?? filePath;
  const to = rest["to"] ?? target;
  return {
    ...rest,
    ...(to !== undefined && { to }),
    ...(file !== undefined && { mediaUrl: rest["mediaUrl"] ?? file }),
  };
}

/** The parameters of `poll`, from those of the field's message tool. */
function pollBy(params: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const options = params["pollOption"];
  return {
    to: params["to"] ?? params["target"],
    question: params["pollQuestion"],
    options,
    ...(params["pollMulti"] === true && Array.isArray(options) && { maxSelections: options.length }),
    durationHours: params["pollDurationHours"],
    durationSeconds: params["pollDurationSeconds"],
    threadId: params["threadId"],
  };
}

function fitting<T>(schema: z.ZodType<T>, given: Readonly<Record<string, unknown>>): T {
  const asked = schema.safeParse(given);
  if (asked.success) return asked.data;
  throw new MethodError("INVALID_REQUEST", `invalid message.action params: ${z.prettifyError(asked.error)}`);
}

const pollParams = z.looseObject({
  to: text,
  question: text.max(300),
  options: z.array(text.max(100)).min(2).max(12),
  maxSelections: z.int().min(1).max(12).optional(),
  durationSeconds: z.int().min(1).max(604_800).optional(),
  durationHours: z.int().min(1).optional(),
  channel: text.optional(),
  accountId: text.optional(),
  threadId: text.optional(),
  idempotencyKey: text.max(200),
});

const repliesTo = (reply: { readonly replyToId: string } | undefined) => reply && { replyToId: reply.replyToId };

/** Sends a message to a chat without an agent. */
export function sendMethods(parts: Parts): readonly Method[] {
  return [
    defineMethod({
      name: "send",
      mayWait: true,
      scope: "operator.write",
      params: sendParams,
      result: sendAnswer,
      idempotencyKey: "idempotencyKey",
      run: (params) => send(params, parts),
    }),
    defineMethod({
      name: "poll",
      mayWait: true,
      scope: "operator.write",
      params: pollParams,
      result: sendAnswer,
      idempotencyKey: "idempotencyKey",
      run: (params) => poll(params, parts),
    }),
    defineMethod({
      name: "message.action",
      mayWait: true,
      scope: "operator.write",
      params: actionParams,
      result: sendAnswer,
      idempotencyKey: "idempotencyKey",
      run: ({ channel, accountId, action, params, idempotencyKey, reply }) => {
        const about = { channel, accountId, idempotencyKey };
        if (action === "poll") return poll(fitting(pollParams, { ...pollBy(params), ...about }), parts);
        if (action !== "send") throw unknownAction(action);
        return send(fitting(sendParams, { ...sentBy(params), ...about, ...repliesTo(reply) }), parts);
      },
    }),
  ];
}

async function send(params: z.output<typeof sendParams>, parts: Parts) {
  const { idempotencyKey, timeoutMs } = params;
  const outgoing = outgoingOf(params);
  const to = targetPeer(outgoing, parts);
  const silent = params.silent === true ? { silent: parts.channels.limits(to)?.silent === true } : {};
  const about = { runId: idempotencyKey, ...describe(to), ...silent };
  const blocks = await blocksOf({ ...outgoing, guestOf: [] }, to, parts);
  if (params.dryRun === true) return { ...about, state: "dry-run" as const, blocks: blocks.length };
  const replyKey = `send:${idempotencyKey}`;
  const replyTo = params.replyToId === undefined ? {} : { replyTo: params.replyToId };
  // A failed account needs a person; waiting does not help.
  const ms = obstacleOf(to, parts).isDead === true ? 0 : timeoutMs;
  const rows = await deliverAndWait({ replyKey, to, blocks, ...replyTo, ...silent }, ms, parts);
  const failed = rows.find((row) => row.state === "failed");
  if (!failed) return { ...about, ...outcomeOf(rows, obstacleOf(to, parts)) };
  const reason = failed.error ?? "unknown";
  if (params.tellFailure === true) return { ...about, state: "failed" as const, reason };
  const details = { code: "SEND_FAILED", reason };
  throw new MethodError("UNAVAILABLE", `${to.channel} did not take the message: ${reason}`, { details });
}

/** Asks a chat, on a platform that has polls. The platform gets it once: a poll waits in no queue. */
async function poll(params: z.output<typeof pollParams>, parts: Parts) {
  const { question, options, maxSelections = 1, durationSeconds, durationHours, idempotencyKey } = params;
  if (new Set(options).size < options.length) throw new MethodError("INVALID_REQUEST", "two options are the same");
  const to = targetPeer(params, parts);
  const link = parts.channels.linkOf(to.channel, to.account);
  if (!link)
    throw new MethodError(
      "UNAVAILABLE",
      `${to.channel} (${to.account}) is not connected: ${obstacleOf(to, parts).problem ?? "it is off"}`,
    );
  const ask = link.actions?.poll;
  if (!ask) throw new MethodError("INVALID_REQUEST", `unsupported poll channel: ${to.channel}`);
  const hours = durationHours ?? (durationSeconds === undefined ? undefined : Math.ceil(durationSeconds / 3600));
  const sent = await ask.call(link.actions, to, { question, options, isMulti: maxSelections > 1, hours });
  if (sent.kind === "sent") {
    const { messageId } = sent;
    return { runId: idempotencyKey, ...describe(to), state: "sent" as const, messageId, messageIds: [messageId] };
  }
  throw new MethodError("UNAVAILABLE", `${to.channel} did not take the poll: ${sent.reason}`, {
    details: { code: "SEND_FAILED" },
  });
}

function outgoingOf(params: z.output<typeof sendParams>): Outgoing {
  const { mediaUrl, mediaUrls = [], buffer, filename, files = [] } = params;
  return {
    ...params,
    media: [...(mediaUrl === undefined ? [] : [mediaUrl]), ...mediaUrls],
    files: [...(buffer === undefined ? [] : [{ buffer, filename }]), ...files].map((file) => ({
      bytes: Buffer.from(file.buffer, "base64"),
      name: file.filename,
    })),
  };
}

type Obstacle = Pick<SendReport, "problem" | "isDead">;

function obstacleOf({ channel, account }: Peer, { channels }: Parts): Obstacle {
  const row = channels.status().find((one) => one.channel === channel && one.accountId === account);
  if (!row || row.connected) return {};
  const problem = problemText(row);
  return {
    ...(problem !== undefined && { problem }),
    ...(row.lifecycle === "dead" && { isDead: true }),
  };
}

const describe = ({ channel, account, chat, thread }: Peer) => ({
  channel,
  accountId: account,
  chatId: chat.id,
  chatKind: chat.kind,
  ...(thread !== undefined && { threadId: thread }),
});

function outcomeOf(rows: readonly OutboxRow[], obstacle: Obstacle) {
  const messageIds = rows.flatMap(({ messageId }) => messageId ?? []);
  const waiting = rows.find((row) => row.state !== "sent");
  return {
    state: waiting ? ("queued" as const) : ("sent" as const),
    ...(messageIds[0] !== undefined && { messageId: messageIds[0] }),
    messageIds,
    ...(waiting?.error !== undefined && { reason: waiting.error }),
    ...(waiting && obstacle),
    ...(rows.some((row) => row.isRepeat === true) && { possibleRepeat: true }),
  };
}
