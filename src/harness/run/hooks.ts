import type { HookContext, PromptAdditions, RunHooks } from "../../types/run/hooks.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import type { RunResult } from "../../types/run/run.ts";
import { estimateTextTokens } from "../../sessions/transcript/tokens.ts";
import { readHistory } from "../context/context.ts";
import type { RunDeps, RunRequest } from "../request.ts";

/** The additions of hooks to this run; undefined without such hooks. */
export async function askHooks(
  request: RunRequest,
  { hooks, models }: Pick<RunDeps, "hooks" | "models">,
): Promise<PromptAdditions | undefined> {
  if (hooks?.shapesPrompts !== true) return undefined;
  const [first] = request.choice.candidates;
  const handle = first && (await models.find(first));
  const messages = handle && !("missing" in handle) ? await readHistory(handle, request) : [];
  return hooks.beforePrompt({ prompt: request.turn.text, messages }, contextOf(request));
}

/** The turn with the hooks' additions, as the transcript keeps it. */
export function addToTurn(request: RunRequest, added: PromptAdditions): RunRequest {
  const { turn } = request;
  const text = joined(added.prependContext, turn.text, added.appendContext);
  if (text === turn.text) return request;
  const own = [added.prependContext, added.appendContext].filter((part) => part !== undefined).join("");
  const part = { name: "hooks", source: "plugins", tokens: estimateTextTokens(own) };
  return { ...request, turn: { ...turn, text, parts: [...(turn.parts ?? []), part] } };
}

export function addToSystem(request: RunRequest, added: PromptAdditions): RunRequest {
  const { systemPrompt, prependSystemContext: before, appendSystemContext: after } = added;
  if (systemPrompt === undefined && before === undefined && after === undefined) return request;
  const part = (text: string) => ({ name: "hooks", source: "plugins", tokens: estimateTextTokens(text) });
  return {
    ...request,
    systemPrompt: async (model) => {
      const own = systemPrompt === undefined ? await request.systemPrompt(model) : undefined;
      const text = own?.text ?? systemPrompt ?? "";
      return {
        text: joined(before, text, after),
        parts: [
          ...(before === undefined ? [] : [part(before)]),
          ...(own?.parts ?? [part(text)]),
          ...(after === undefined ? [] : [part(after)]),
        ],
      };
    },
  };
}

export function notifyEnd(
  request: RunRequest,
  hooks: RunHooks,
  end: { readonly result: RunResult; readonly durationMs: number; readonly messages: readonly ChatMessage[] },
): void {
  const { result, durationMs, messages } = end;
  const error = result.kind === "failed" && { error: result.failure.message };
  hooks.agentEnd({ messages, durationMs, success: result.kind === "replied", ...error }, contextOf(request));
}

function contextOf({ facts, settings, channel }: RunRequest): HookContext {
  const { agentId, sessionKey, sessionId } = facts;
  const provider = channel !== undefined && { messageProvider: channel };
  return { agentId, sessionKey, sessionId, workspaceDir: settings.workspace, ...provider };
}

const joined = (...texts: (string | undefined)[]): string =>
  texts.filter((text) => text !== undefined && text !== "").join("\n\n");
