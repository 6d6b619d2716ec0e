import type { HookName } from "../../../types/hook/hook-table.ts";
import type { HookContext } from "../../../types/hook/hooks.ts";
import { isFields, type Fields } from "../../../utils/fields.ts";
import { own } from "../../../utils/own.ts";
import { functionOf, textIn } from "../foreign.ts";
import type { PluginScope } from "../scope.ts";
import { on } from "./hooks.ts";

/** An internal event of the field, with the typed hook that tells of it. */
interface InternalEvent {
  readonly hook: HookName;
  readonly type: string;
  readonly action: string;
  /** The only reason of the hook for which it happens. */
  readonly reason?: string;
}

const STARTUP: InternalEvent = { hook: "gateway_start", type: "gateway", action: "startup" };
const NEW: InternalEvent = { hook: "before_reset", type: "command", action: "new", reason: "new" };
const RESET: InternalEvent = { hook: "before_reset", type: "command", action: "reset", reason: "reset" };
const BEFORE: InternalEvent = { hook: "before_compaction", type: "session", action: "compact:before" };
const AFTER: InternalEvent = { hook: "after_compaction", type: "session", action: "compact:after" };
const RECEIVED: InternalEvent = { hook: "message_received", type: "message", action: "received" };
const SENT: InternalEvent = { hook: "message_sent", type: "message", action: "sent" };

/** Those that this gateway tells plugins of, by the published name. */
const EVENTS: Readonly<Record<string, InternalEvent>> = Object.fromEntries(
  [STARTUP, NEW, RESET, BEFORE, AFTER, RECEIVED, SENT].map((event) => [`${event.type}:${event.action}`, event]),
);

/**
 * `api.registerHook(events, handler, {priority, timeoutMs})`: one handler for several hooks. A name with a colon is an internal
 * event of the field, whose handler gets `{type, action, sessionKey, timestamp, messages, context}`. May throw.
 */
export function registerHook(scope: PluginScope, events: unknown, handler: unknown, options: unknown = {}): void {
  const names: readonly unknown[] = Array.isArray(events) ? events : [events];
  for (const name of names) {
    const internal = typeof name === "string" ? own(EVENTS, name) : undefined;
    if (internal) registerInternal(scope, internal, handler, options);
    else on(scope, name, handler, options);
  }
}

function registerInternal(scope: PluginScope, internal: InternalEvent, handler: unknown, options: unknown): void {
  const call = functionOf(handler, `the hook "${internal.type}:${internal.action}"`);
  const told = async (event: unknown, context: HookContext): Promise<void> => {
    const facts = isFields(event) ? event : {};
    if (internal.reason !== undefined && facts["reason"] !== internal.reason) return;
    await call(shown(internal, { facts, context, now: scope.ports.clock.now() }));
  };
  on(scope, internal.hook, told, options);
}

function shown(
  { type, action }: InternalEvent,
  { facts, context, now }: { readonly facts: Fields; readonly context: HookContext; readonly now: number },
) {
  const sessionKey = context.sessionKey ?? textIn(facts, "sessionKey") ?? "";
  return { type, action, sessionKey, timestamp: new Date(now), messages: [], context: { ...context, ...facts } };
}
