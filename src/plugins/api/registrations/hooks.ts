import { hookFacts, isHookName, type HookName } from "../../../types/hook/hook-table.ts";
import type { HookContext, HookHandler, HookOptions } from "../../../types/hook/hooks.ts";
import { defined } from "../../../utils/defined.ts";
import { isFields, type Fields } from "../../../utils/fields.ts";
import { own } from "../../../utils/own.ts";
import { functionOf, methodIn, nameIn, numberIn, objectOf, textIn } from "../foreign.ts";
import { hasConversations } from "../../found/grants.ts";
import { hookForPlugin } from "../../exchanged-keys.ts";
import { conversationOf, sessionKeyIn, type PluginScope } from "../scope.ts";

/** `api.on(name, handler, {priority, timeoutMs})`: a typed hook. A name that this gateway never calls is noted and kept silent. */
export function on(scope: PluginScope, name: unknown, handler: unknown, options: unknown = {}): void {
  const named = nameIn({ name }, "name", "on");
  const call = functionOf(handler, `the hook "${named}"`);
  const facts = isHookName(named) ? hookFacts(named) : undefined;
  if (!isHookName(named) || facts?.isNeverCalled === true || facts?.isInternal === true) {
    scope.neverCalled.add(named);
    return;
  }
  addListener(scope, { hook: named, call }, options);
}

/** A handler of a hook. */
interface Listener extends Pick<HookOptions, "shownAs"> {
  readonly hook: HookName;
  readonly call: HookHandler;
}

/** Adds the handler of a hook that is called; one that reads conversations only while the plugin may. */
export function addListener(scope: PluginScope, { hook, ...listener }: Listener, options: unknown): void {
  const { call, ...more } = listener;
  const chosen = { ...optionsOf(scope, hook, objectOf(options, "the options of on")), ...more };
  add(scope, hook, call, hookFacts(hook).readsConversations === true ? reading(scope, hook, chosen) : chosen);
}

/** A slot can give and take the right at any time, and the plugin may register its engine after its hooks. */
function reading(scope: PluginScope, hook: HookName, options: HookOptions): HookOptions {
  scope.readingHooks.add(hook);
  return { ...options, isCalled: () => mayReadConversations(scope) };
}

/** Messages and resets wait for hooks: only the operator may let them wait longer. */
const MOST_MS = 10 * 60_000;

/** The config's time limit has priority over the plugin's own. */
function optionsOf(scope: PluginScope, hook: HookName, given: Fields): HookOptions {
  const limits = scope.entry?.hooks;
  const wanted = numberIn(given, "timeoutMs");
  const chosen = wanted === undefined || wanted <= 0 ? undefined : Math.min(wanted, MOST_MS);
  const timeoutMs = (limits && own(limits.timeouts, hook)) ?? limits?.timeoutMs ?? chosen;
  return defined({ timeoutMs, priority: numberIn(given, "priority") });
}

/** A plugin that is selected as the context engine or the memory may read the conversations. */
export const mayReadConversations = (scope: PluginScope): boolean =>
  hasConversations({ id: scope.id, engines: [...scope.engines, ...scope.plugin.engines] }, scope.ports.pluginsConfig());

/** Notes that a hook, or a listener, is not called. */
export function refuseReading(scope: PluginScope, hook: string): void {
  scope.refusedHooks.add(hook);
  warnOfReading(scope, hook);
}

/** Logs each hook of a loaded plugin that is not called now. */
export function warnOfSilentHooks(scope: PluginScope): void {
  if (!mayReadConversations(scope)) for (const hook of scope.readingHooks) warnOfReading(scope, hook);
}

function warnOfReading(scope: PluginScope, hook: string): void {
  scope.log.warn("a hook of a plugin is not called: it would read conversations", {
    hook,
    fix: `Allow it with: openclaw config set plugins.entries.${scope.id}.hooks.allowConversationAccess true`,
  });
}

/**
 * `api.registerTrustedToolPolicy({id, evaluate})`: a `before_tool_call` hook that is asked before every other one. It may also
 * answer `{allow: false, reason}`.
 */
export function registerTrustedToolPolicy(scope: PluginScope, policy: unknown): void {
  const given = objectOf(policy, "registerTrustedToolPolicy");
  const id = nameIn(given, "id", "registerTrustedToolPolicy");
  const evaluate = methodIn(given, "evaluate", `the tool policy "${id}"`);
  const judge = async (...args: readonly unknown[]): Promise<unknown> => {
    const answer = await evaluate(...args);
    const isRefused = isFields(answer) && answer["allow"] === false;
    return isRefused ? { block: true, blockReason: textIn(answer, "reason") ?? `the tool policy "${id}"` } : answer;
  };
  const options = { ...optionsOf(scope, "before_tool_call", {}), priority: Infinity };
  add(scope, "before_tool_call", judge, reading(scope, "before_tool_call", options));
}

function add(scope: PluginScope, name: HookName, call: HookHandler, options: HookOptions): void {
  const { kind, changesPrompts } = hookFacts(name);
  const told = hookForPlugin(call, scope.ports.keys);
  const run = (event: unknown, context: HookContext): unknown =>
    scope.callFor(conversationOf(context.sessionKey ?? sessionKeyIn(event)), `hook ${name}`, () =>
      told(event, context),
    );
  const handler = async (event: unknown, context: HookContext): Promise<unknown> => {
    const answer = await run(event, context);
    const isDropped = changesPrompts === true && scope.entry?.hooks.allowPromptInjection === false;
    return isDropped ? undefined : answer;
  };
  scope.registry.addHook(name, kind === "sync" ? run : handler, options);
}
