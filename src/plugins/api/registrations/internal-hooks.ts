import { eventNameIn, handlerFor, hooksTelling } from "../../internal-hooks/event.ts";
import { functionOf } from "../foreign.ts";
import type { PluginScope } from "../scope.ts";
import { listen, on } from "./hooks.ts";

/**
 * `api.registerHook(events, handler, {priority, timeoutMs})`: one handler for several hooks. A name with a colon, or the type
 * `command`, `session`, `agent`, `gateway` or `message`, means internal events of the field, whose handler gets
 * `{type, action, sessionKey, timestamp, messages, context}`. May throw.
 */
export function registerHook(scope: PluginScope, events: unknown, handler: unknown, options: unknown = {}): void {
  const names: readonly unknown[] = Array.isArray(events) ? events : [events];
  const internal = names.filter((name): name is string => typeof name === "string" && hooksTelling(name).length > 0);
  for (const name of names) if (!internal.some((one) => one === name)) on(scope, name, handler, options);
  if (internal.length > 0) registerInternal(scope, internal, handler, options);
}

/** Once for each hook, however many of the names it tells of. */
function registerInternal(scope: PluginScope, names: readonly string[], handler: unknown, options: unknown): void {
  const call = functionOf(handler, `the hook "${names.join(" ")}"`);
  const { clock, events } = scope.ports;
  const ports = {
    now: () => clock.now(),
    cfg: () => scope.shownConfig(),
    say: (said: Parameters<typeof events.say>[1]) => events.say(scope.id, said),
  };
  const hooks = new Set(names.flatMap(hooksTelling));
  for (const hook of hooks)
    listen(scope, { hook, call: handlerFor(hook, names, call, ports), shownAs: eventNameIn(hook) }, options);
}
