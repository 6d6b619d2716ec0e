import { randomUUID } from "node:crypto";
import { createChatPort } from "../../dispatch/clients/chat.ts";
import { noticeFor } from "../../dispatch/chat-texts.ts";
import { resolveAlias } from "../../sessions/keys.ts";
import type { ChatPort } from "../../types/chat/chat.ts";
import type { RunStream } from "../../types/run/events.ts";
import type { ModelRef, ThinkLevel, Usage } from "../../types/run/model.ts";
import type { Approval } from "../../types/run/tool.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import type { Core } from "../compose/core.ts";
import { inboundOf } from "../contributions/extensions.ts";
import { withLocalCore } from "./local-core.ts";
import { background } from "../../utils/background.ts";

export interface LocalRequest {
  readonly message: string;
  readonly sessionKey?: string;
  readonly thinking?: ThinkLevel;
  readonly model?: string;
  readonly timeoutMs?: number;
  readonly onText?: (delta: string) => void;
  /** Asks whether a command may run. Every command is denied when unset. */
  readonly onApproval?: (approval: Approval, signal: AbortSignal) => Promise<Decision>;
}

type Decision = "allow-once" | "allow-always" | "deny";

export interface LocalAnswer {
  readonly runId: string;
  readonly text: string;
  readonly error?: string;
  readonly usage: Usage;
  readonly model: ModelRef;
}

/** One turn in this process, without a daemon. Throws `STATE_LOCKED` while one runs on the same state directory. */
export const runLocal = (request: LocalRequest): Promise<LocalAnswer> => withLocalCore((core) => ask(core, request));

async function ask(core: Core, request: LocalRequest): Promise<LocalAnswer> {
  const chat = createChatPort(core.dispatch, core.ports, async (said) =>
    core.dispatch.receive([await inboundOf(said)]),
  );
  const { runId } = await chat.send({
    sessionKey: resolveAlias(request.sessionKey ?? "main", core.ports.settings().defaultAgent),
    text: request.message,
    media: [],
    idempotencyKey: randomUUID(),
    ...(request.thinking && { thinking: request.thinking }),
    ...(request.model !== undefined && { model: request.model }),
    ...(request.timeoutMs !== undefined && { timeoutMs: request.timeoutMs }),
  });
  const stream = chat.stream(runId);
  if (!stream) throw new Error("the run did not begin");
  background(
    "approvals on the command line",
    answerQuestions(stream, chat, request.onApproval ?? (async () => "deny")),
  );
  const answer = await follow(stream, request.onText);
  await core.dispatch.close(1000);
  return { runId, ...answer };
}

/** There is no page and no chat, so the person who started the command answers. */
async function answerQuestions(stream: RunStream, chat: ChatPort, decide: NonNullable<LocalRequest["onApproval"]>) {
  const over = new AbortController();
  background(
    "end of the run",
    stream.done.then(() => over.abort()),
  );
  for await (const event of stream.watch()) {
    if (event.type !== "approval_request") continue;
    const decision = await decide(event.approval, over.signal).catch(() => "deny" as const);
    chat.approvals.resolve(event.approval.id, decision);
  }
}

async function follow(
  stream: RunStream,
  onText: ((delta: string) => void) | undefined,
): Promise<Omit<LocalAnswer, "runId">> {
  const texts: string[] = [];
  for await (const event of stream.watch()) {
    if (event.type === "text_delta") onText?.(event.delta);
    if (event.type === "message_end" && event.text.trim() !== "") texts.push(event.text);
    if (event.type === "answer") texts.push(event.text);
    if (event.type !== "run_end") continue;
    const error = noticeFor(event.result);
    const { usage, model } = event.receipt;
    return { text: texts.join("\n\n"), usage, model, ...(error !== undefined && { error }) };
  }
  return { text: texts.join("\n\n"), usage: emptyUsage(), model: { provider: "none", id: "none" } };
}
