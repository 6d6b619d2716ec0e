import type { RunId } from "../../../types/ids.ts";
import type { SubagentEnd } from "../../../types/subagent/subagent.ts";
import { background } from "../../../utils/background.ts";
import { isFields, type Fields } from "../../../utils/fields.ts";
import { nameIn, numberIn, objectOf, textIn } from "../foreign.ts";
import { followReply } from "../registrations/channel/follow-reply.ts";
import { ReplyCallbacks } from "../registrations/channel/reply-callbacks.ts";
import { mayReadConversations } from "../registrations/hooks.ts";
import { forPlugin } from "../../exchanged-keys.ts";
import type { PluginScope } from "../scope.ts";
import { withSignal } from "../with-signal.ts";

/** Milliseconds, when the plugin says nothing. */
const WAIT_MS = 30_000;
const USUAL_MESSAGES = 50;
const MOST_MESSAGES = 1000;

/** `runtime.subagent`: runs of agents in conversations of their own, whose answers the plugin reads. */
export function subagentOf(scope: PluginScope): object {
  const messages = (given: unknown) => messagesOf(scope, objectOf(given, "subagent.getSessionMessages"));
  return {
    run: async (given: unknown) => run(scope, objectOf(given, "subagent.run")),
    waitForRun: async (given: unknown) => waitForRun(scope, objectOf(given, "subagent.waitForRun")),
    getSessionMessages: async (given: unknown) => messages(given),
    // The older name.
    getSession: async (given: unknown) => messages(given),
    deleteSession: async (given: unknown) => deleteSession(scope, objectOf(given, "subagent.deleteSession")),
  };
}

/**
 * `{sessionKey, message, provider, model, extraSystemPrompt, idempotencyKey, replyOptions, deliver, lane}`; `lane` is
 * always `subagent`.
 */
async function run(scope: PluginScope, given: Fields): Promise<{ readonly runId: RunId }> {
  const sessionKey = scope.ports.keys.inner(nameIn(given, "sessionKey", "subagent.run"));
  if (given["deliver"] === true)
    throw new Error("subagent.run cannot deliver: the session of a subagent belongs to no chat, so leave out deliver");
  const { requester, id: plugin } = scope;
  const request = {
    sessionKey,
    message: nameIn(given, "message", "subagent.run"),
    systemPrompt: textIn(given, "extraSystemPrompt"),
    model: modelIn(given),
    // An empty one is none.
    idempotencyKey: textIn(given, "idempotencyKey") || undefined,
    plugin,
    requester,
  };
  const grant = scope.entry?.subagent ?? { allowModelOverride: false };
  const begun = await scope.outside(() => scope.ports.subagents.run(request, grant));
  const options = given["replyOptions"];
  if (isFields(options)) follow(scope, begun.runId, options);
  return begun;
}

/** A plugin may read its own subagents, so every callback is called. */
function follow(scope: PluginScope, id: RunId, options: Fields): void {
  const { subagents } = scope.ports;
  const run = {
    stored: Promise.resolve(),
    runs: (signal: AbortSignal) => subagents.runsOf(id, signal),
    stop: () => subagents.stop(id),
    mayStop: () => !scope.signal.aborted,
  };
  const following = followReply(scope, run, { callbacks: new ReplyCallbacks(scope, options, true), options });
  if (following) background("a plugin that follows its subagent", following, scope.log);
}

/** `provider/model`. Throws for a provider without a model, and for a model without a provider. */
function modelIn(given: Fields): string | undefined {
  const [provider, model] = [wordIn(given, "provider"), wordIn(given, "model")];
  if (provider === undefined && model === undefined) return undefined;
  if (model !== undefined && provider !== undefined)
    return model.startsWith(`${provider}/`) ? model : `${provider}/${model}`;
  if (model?.includes("/") === true) return model;
  throw new TypeError("subagent.run needs a model with its provider: model as provider/model, or provider and model");
}

function wordIn(given: Fields, key: string): string | undefined {
  const word = textIn(given, key)?.trim();
  return word === "" ? undefined : word;
}

async function waitForRun(scope: PluginScope, given: Fields): Promise<SubagentEnd> {
  const runId = nameIn(given, "runId", "subagent.waitForRun");
  const timeoutMs = Math.max(0, numberIn(given, "timeoutMs") ?? WAIT_MS);
  const signal = withSignal(scope.signal, given["signal"]);
  return scope.outside(() => scope.ports.subagents.waitFor({ runId, plugin: scope.id, timeoutMs, signal }));
}

/** Messages of the plugin's own subagents; messages of other sessions only with the right to read conversations. */
async function messagesOf(scope: PluginScope, given: Fields): Promise<{ readonly messages: readonly unknown[] }> {
  const { subagents, keys } = scope.ports;
  const sessionKey = keys.inner(nameIn(given, "sessionKey", "subagent.getSessionMessages"));
  if (!subagents.owns({ sessionKey, plugin: scope.id }) && !mayReadConversations(scope))
    throw new Error(
      `${keys.wire(sessionKey)} is no subagent of this plugin: it may be read with plugins.entries.${scope.id}.hooks.allowConversationAccess`,
    );
  const wanted = numberIn(given, "limit") ?? USUAL_MESSAGES;
  const limit = Math.min(MOST_MESSAGES, Math.max(1, Math.trunc(wanted)));
  const messages = await scope.outside(() => subagents.messages(sessionKey, limit));
  return forPlugin({ messages }, keys);
}

/** Archives the transcript in any case, so that a person can still see the work. */
async function deleteSession(scope: PluginScope, given: Fields): Promise<{ readonly deleted: boolean }> {
  const sessionKey = scope.ports.keys.inner(nameIn(given, "sessionKey", "subagent.deleteSession"));
  return { deleted: await scope.outside(() => scope.ports.subagents.remove({ sessionKey, plugin: scope.id })) };
}
