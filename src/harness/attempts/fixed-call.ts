import type { Clock } from "../../types/clock.ts";
import type { AssistantMessage, ToolCallContent, ToolResultMessage } from "../../types/run/model.ts";
import type { Failure } from "../../types/run/run.ts";
import type { FixedCall, Tool } from "../../types/run/tool.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import type { RunLog } from "../log/log.ts";
import type { RunRequest } from "../request.ts";
import { checkCall } from "../tools/single-call.ts";
import type { ToolSetting } from "../tools/tools.ts";

interface Calling {
  readonly request: RunRequest;
  readonly setting: ToolSetting;
  readonly log: RunLog;
  readonly clock: Pick<Clock, "now">;
}

/**
 * Makes the only call of a run, unless an earlier process began the call: then its result is the one in the transcript.
 * Returns the answer that is made of the result, or the failure when the call cannot be made. Rejects when the
 * transcript cannot be written.
 */
export async function fixedAnswer(call: FixedCall, calling: Calling): Promise<AssistantMessage | Failure> {
  const { conversation, turn } = calling.request;
  const known = (await conversation.after(turn.entryId))?.flatMap((entry) =>
    entry.type === "message" && entry.message.role === "toolResult" ? [entry.message] : [],
  );
  const result = known?.at(-1) ?? (await resultOf(call, calling));
  if (!("role" in result)) return result;
  return message([{ type: "text", text: call.answer(result) }], "stop", calling);
}

async function resultOf(call: FixedCall, calling: Calling): Promise<ToolResultMessage | Failure> {
  const { request, setting } = calling;
  const tool = request.tools.find(({ name }) => name === call.tool);
  if (!tool) return blocked(`the tool ${call.tool} is not there for it${whyRemoved(call, request)}`);
  const checked = await checkCall(tool, call.args, setting);
  if (checked.kind === "invalid") return blocked(`the call of ${call.tool} cannot be made: ${checked.why}`);
  return made({ ...call, run: checked.run }, tool, calling);
}

const blocked = (text: string): Failure => ({ kind: "blocked", message: text });

function whyRemoved({ tool }: FixedCall, { removed }: RunRequest): string {
  const why = removed?.(tool);
  return why ? `: the policy removed it at the step "${why.stage}": ${why.key}` : "";
}

async function made(
  {
    args,
    run,
  }: Pick<FixedCall, "args"> & Pick<Extract<Awaited<ReturnType<typeof checkCall>>, { kind: "fits" }>, "run">,
  { name }: Tool,
  calling: Calling,
): Promise<ToolResultMessage> {
  const { log, clock, request } = calling;
  const { conversation } = request;
  const id = `call_${request.turn.entryId}`;
  const part: ToolCallContent = { type: "toolCall", id, name, arguments: { ...args } };
  await conversation.append({ type: "message", message: message([part], "toolUse", calling) }, { durable: true });
  log.emit({ type: "tool_start", callId: id, name, args: { ...args } });
  const startedAt = clock.now();
  const {
    content,
    details,
    isError = false,
  } = await run(id, (partial) => log.emit({ type: "tool_update", callId: id, name, partial }));
  const timestamp = clock.now();
  const text = content.map((one) => (one.type === "text" ? one.text : `[${one.mimeType}]`)).join("\n");
  log.emit({ type: "tool_end", callId: id, name, isError, text, durationMs: timestamp - startedAt });
  const result = { role: "toolResult" as const, toolCallId: id, toolName: name, content, details, isError, timestamp };
  // A stopped call is closed by whoever continues the turn.
  if (!calling.setting.signal.aborted)
    await conversation.append({ type: "message", message: result }, { durable: true });
  return result;
}

const message = (
  content: AssistantMessage["content"],
  stopReason: AssistantMessage["stopReason"],
  { clock }: Pick<Calling, "clock">,
): AssistantMessage => ({
  role: "assistant",
  content,
  api: "openclaw",
  provider: "openclaw",
  model: "none",
  usage: emptyUsage(),
  stopReason,
  timestamp: clock.now(),
});
