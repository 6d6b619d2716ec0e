import { HOOK_NAMES, type HookName } from "../../../types/run/hooks.ts";
import { own } from "../../../utils/own.ts";
import { functionOf, nameIn, numberIn, objectOf } from "../foreign.ts";
import type { PluginScope } from "../scope.ts";

/** `api.on(name, handler, {priority, timeoutMs})`: a typed hook. A name that this gateway never calls is noted and kept silent. */
export function on(scope: PluginScope, name: unknown, handler: unknown, options: unknown = {}): void {
  const named = nameIn({ name }, "name", "on");
  const call = functionOf(handler, `the hook "${named}"`);
  const hook = HOOK_NAMES.find((one) => one === named);
  if (!hook) {
    scope.neverCalled.add(named);
    return;
  }
  const given = objectOf(options, "the options of on");
  const limits = scope.entry?.hooks;
  const timeoutMs = (limits && own(limits.timeouts, named)) ?? limits?.timeoutMs ?? numberIn(given, "timeoutMs");
  const priority = numberIn(given, "priority");
  add(scope, hook, call, {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(priority !== undefined && { priority }),
  });
}

type Handler = (...args: readonly unknown[]) => unknown;

function add(
  scope: PluginScope,
  name: HookName,
  call: Handler,
  options: { timeoutMs?: number; priority?: number },
): void {
  const handler = async (event: unknown, context: unknown): Promise<undefined> => {
    const answer: unknown = await scope.call(`hook ${name}`, () => call(event, context));
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- foreign code: whoever calls the hook reads the answer as unknown
    return answer as undefined;
  };
  scope.registry.addHook(name, handler, options);
}
