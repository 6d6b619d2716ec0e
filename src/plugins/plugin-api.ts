import type { IncomingMessage, ServerResponse } from "node:http";
import { homedir } from "node:os";
import { join, isAbsolute, resolve } from "node:path";
import type { Command } from "commander";
import type { z } from "zod";
import type { PluginDefinition } from "./load/definition.ts";
import { defined } from "../utils/defined.ts";
import { functionOf, objectOf, textsIn, methodIn, nameIn, textIn, optionalMethodIn } from "./api/foreign.ts";
import { neverAsked, refusedMembers } from "./api/refused.ts";
import { registerSessionAction } from "./api/registrations/session-actions.ts";
import { pluginLogger } from "./api/logging.ts";
import { runtimeOf } from "./api/runtime/runtime.ts";
import type { PluginScope } from "./api/scope.ts";
import { registerCommand } from "./api/registrations/commands.ts";
import { registerContextEngine } from "./api/registrations/engines.ts";
import { on, registerTrustedToolPolicy, addListener } from "./api/registrations/hooks.ts";
import { noMemory, registerMemoryCapability, registerMemorySupplement } from "./api/registrations/memory.ts";
import { registerGatewayMethod } from "./api/registrations/methods.ts";
import { registerTool, type NamelessFactories } from "./api/registrations/tools.ts";
import { registerWebSearchProvider } from "./api/registrations/web-search.ts";
import type { ChannelAdapter } from "../types/chat/channel.ts";
import type { ChannelContribution } from "../types/contribution.ts";
import { isFields, type Fields } from "../utils/fields.ts";
import { bridgedAdapter } from "./api/registrations/channel/adapter.ts";
import { readChannelPlugin } from "./api/registrations/channel/plugin-object.ts";
import { answerInstead } from "../utils/net/answer-instead.ts";
import { limitRoute } from "./api/answer-limit.ts";
import { eventNameIn, handlerFor, hooksTelling, type SaidByHook } from "./internal-hooks/event.ts";
import { CALLED, methodsOf } from "./api/registrations/provider/methods.ts";
import { ProviderParts } from "./api/registrations/provider/parts.ts";
import { readProvider } from "./api/registrations/provider/settings.ts";
import { pluginStateDir } from "./state-dir.ts";

/**
 * `full`: the gateway runs the plugin. `discovery`: the plugin is only inspected, and should open no store.
 * `cli-metadata`: only its commands of the command line are wanted.
 */
export type RegistrationMode = "full" | "discovery" | "cli-metadata";

/** The object that `register` gets. Its members are those of the field's SDK; `registerX` may throw. */
export function createPluginApi(
  scope: PluginScope,
  { definition, entry, mode }: { definition: PluginDefinition; entry: string; mode: RegistrationMode },
): object {
  const { manifest, package: pack, root } = scope.plugin;
  const controls = {
    registerSessionAction: (action: unknown) => registerSessionAction(scope, action),
    registerControlUiDescriptor: () => undefined,
  };
  const registerRuntimeLifecycle = () => undefined;
  return {
    ...refusedMembers(scope, "api"),
    ...neverAsked(scope),
    ...identityOf(scope, definition),
    source: join(root, entry),
    runtimeSource: join(root, entry),
    rootDir: root,
    registrationMode: mode,
    version: pack.version ?? manifest.version ?? definition.version,
    config: scope.shownConfig(),
    pluginConfig: scope.ports.settingsOf(scope.id)["config"] ?? {},
    runtime: runtimeOf(scope, mode),
    logger: pluginLogger(scope.log),
    resolvePath: (path: unknown) => resolvePath(scope, String(path)),
    ...registrationsOf(scope),
    session: {
      controls,
      state: refusedMembers(scope, "api.session.state"),
      workflow: refusedMembers(scope, "api.session.workflow"),
    },
    lifecycle: {
      signal: scope.signal,
      onDispose: (given: unknown) => {
        const end = functionOf(given, "lifecycle.onDispose");
        scope.onEnd(() => scope.call("onDispose", end));
      },
      registerRuntimeLifecycle,
    },
    // The older names.
    ...controls,
    registerRuntimeLifecycle,
    agent: { events: refusedMembers(scope, "api.agent.events") },
    runContext: refusedMembers(scope, "api.runContext"),
  };
}

const identityOf = ({ id, plugin: { manifest, package: pack } }: PluginScope, definition: PluginDefinition) => ({
  id,
  name: manifest.name ?? definition.name ?? id,
  ...defined({ description: manifest.description ?? definition.description ?? pack.description }),
});

/** Relative to the plugin's folder; `~` is the user's home. */
function resolvePath({ plugin: { root } }: PluginScope, path: string): string {
  if (path === "~" || path.startsWith("~/")) return join(homedir(), path.slice(1));
  return isAbsolute(path) ? path : resolve(root, path);
}

/** `api.on` and the members `api.registerX`. Each may throw. */
function registrationsOf(scope: PluginScope) {
  const memory = noMemory();
  const nameless: NamelessFactories = [];
  const addSupplement = (builder: unknown) => registerMemorySupplement(scope, memory, builder);
  return {
    registerTool: (tool: unknown, options?: unknown) => registerTool(scope, nameless, tool, options),
    registerCommand: (command: unknown) => registerCommand(scope, command),
    on: (name: unknown, handler: unknown, options?: unknown) => on(scope, name, handler, options),
    registerHook: (events: unknown, handler: unknown, options?: unknown) =>
      registerHook(scope, events, handler, options),
    registerTrustedToolPolicy: (policy: unknown) => registerTrustedToolPolicy(scope, policy),
    registerService: (service: unknown) => registerService(scope, service),
    registerHttpRoute: (route: unknown) => registerHttpRoute(scope, route),
    registerHttpHandler: (handler: unknown) => registerHttpHandler(scope, handler),
    registerGatewayMethod: (name: unknown, handler: unknown, options?: unknown) =>
      registerGatewayMethod(scope, name, handler, options),
    registerCli: (registrar: unknown, options?: unknown) => registerCli(scope, registrar, options),
    registerChannel: (channel: unknown) => registerChannel(scope, channel),
    registerProvider: (provider: unknown) => registerProvider(scope, provider),
    registerWebSearchProvider: (provider: unknown) => registerWebSearchProvider(scope, provider),
    registerContextEngine: (id: unknown, factory: unknown) => registerContextEngine(scope, id, factory),
    registerMemoryCapability: (capability: unknown) => registerMemoryCapability(scope, memory, capability),
    registerMemoryPromptSection: addSupplement,
    registerMemoryPromptSupplement: addSupplement,
    registerMemoryPromptPreparation: () => undefined,
    registerMemoryCorpusSupplement: () => undefined,
    registerToolMetadata: () => undefined,
  };
}

/**
 * `api.registerChannel`: a `ChannelContribution` or `ChannelAdapter` of this gateway, or the field's `ChannelPlugin`, each
 * also as `{plugin}`. Throws for anything else.
 */
function registerChannel(scope: PluginScope, given: unknown): void {
  const outer = objectOf(given, "registerChannel");
  const channel = isFields(outer["plugin"]) ? outer["plugin"] : outer;
  if (isContribution(channel)) return scope.registry.addChannel(channel);
  if (isAdapter(channel)) return scope.registry.addChannel(contributionOf(channel, channel.config));
  const bridged = readChannelPlugin(channel);
  if (bridged.notServed.length > 0)
    scope.log.info("parts of a channel are not used", { channel: bridged.id, parts: bridged.notServed.join(", ") });
  scope.registry.addChannel(contributionOf(bridgedAdapter(scope, bridged), bridged.keys));
}

/** The config or a login sets up the account: the channel has no flags. */
const contributionOf = (adapter: ChannelAdapter, schema: z.ZodType): ChannelContribution => ({
  id: adapter.id,
  label: adapter.label,
  config: async () => schema,
  adapter: async () => adapter,
  setup: { flags: [] },
});

const isFunction = (value: unknown): boolean => typeof value === "function";

function isContribution(channel: Fields): channel is Fields & ChannelContribution {
  return isFunction(channel["adapter"]) && isFunction(channel["config"]) && isFields(channel["setup"]);
}

function isAdapter(channel: Fields): channel is Fields & ChannelAdapter {
  return isFunction(channel["connect"]) && isFields(channel["limits"]) && channel["config"] instanceof Object;
}

/**
 * `api.registerCli(({program, config, workspaceDir, logger}) => …, {commands})`: commands of the command line, in
 * commander's form.
 */
function registerCli(scope: PluginScope, registrar: unknown, options: unknown = {}): void {
  const define = functionOf(registrar, "registerCli");
  const named = textsIn(objectOf(options, "registerCli's options"), "commands") ?? [];
  const names = named.length > 0 ? named : scope.plugin.manifest.cliCommands;
  if (names.length === 0) throw new TypeError("registerCli needs the names of its commands in {commands: [...]}");
  const context = (program: Command) => ({
    program,
    config: scope.shownConfig(),
    workspaceDir: scope.ports.workspace(),
    logger: pluginLogger(scope.log),
  });
  const [first, ...others] = names;
  if (first === undefined) return;
  // A single call of the registrar defines all its commands.
  scope.registry.addCliCommand({
    name: first,
    aliases: others,
    define: (program) => void scope.call(`command line ${first}`, () => define(context(program))),
  });
}

/**
 * `api.registerHttpRoute({path, handler, auth, match})`. `auth: "gateway"`: callers need the gateway's token; `"plugin"`: the
 * plugin checks them itself. `match`: `exact` or `prefix`.
 */
function registerHttpRoute(scope: PluginScope, given: unknown): void {
  const route = objectOf(given, "registerHttpRoute");
  const path = pathOf(nameIn(route, "path", "registerHttpRoute"));
  const handler = methodIn(route, "handler", `the route ${path}`);
  scope.registry.addHttpRoute({
    path,
    isPrefix: textIn(route, "match") === "prefix",
    needsToken: textIn(route, "auth") !== "plugin",
    handle: async (request, response) => {
      limitRoute(scope, `route ${path}`, { request, response });
      await scope.call(`route ${path}`, () => handler(request, response));
    },
  });
}

/** `api.registerHttpHandler((request, response) => isMine)` of older plugins: asked for every path below `/plugins/<id>`. */
function registerHttpHandler(scope: PluginScope, given: unknown): void {
  const handler = functionOf(given, "registerHttpHandler");
  const path = `/plugins/${scope.id}`;
  scope.registry.addHttpRoute({
    path,
    isPrefix: true,
    needsToken: false,
    async handle(request: IncomingMessage, response: ServerResponse) {
      limitRoute(scope, `route ${path}`, { request, response });
      const isMine: unknown = await scope.call(`route ${path}`, () => handler(request, response));
      if (isMine !== true && !response.headersSent) answerInstead(response, 404);
    },
  });
}

function pathOf(path: string): string {
  const clean = `/${path.replace(/^\/+/, "").replace(/\/+$/, "")}`;
  if (/^\/[\w./~%-]+$/.test(clean) && !clean.includes("..")) return clean;
  throw new TypeError(`"${path}" cannot be the path of a route`);
}

/**
 * `api.registerHook(events, handler, {priority, timeoutMs})`: one handler for several hooks. A name with a colon, or the type
 * `command`, `session`, `agent`, `gateway` or `message`, means internal events of the field, whose handler gets
 * `{type, action, sessionKey, timestamp, messages, context}`. May throw.
 */
function registerHook(scope: PluginScope, events: unknown, handler: unknown, options: unknown = {}): void {
  const names: readonly unknown[] = Array.isArray(events) ? events : [events];
  const internal = names.filter((name): name is string => typeof name === "string" && hooksTelling(name).length > 0);
  for (const name of names) if (!internal.some((one) => one === name)) on(scope, name, handler, options);
  if (internal.length > 0) registerInternal(scope, internal, handler, options);
}

/** Registers the handler once for each hook, however many of the names the hook reports. */
function registerInternal(scope: PluginScope, names: readonly string[], handler: unknown, options: unknown): void {
  const call = functionOf(handler, `the hook "${names.join(" ")}"`);
  const { clock, events, keys } = scope.ports;
  const ports = {
    now: () => clock.now(),
    cfg: () => scope.shownConfig(),
    say: (said: SaidByHook) => events.say(scope.id, { ...said, sessionKey: keys.inner(said.sessionKey) }),
  };
  const hooks = new Set(names.flatMap(hooksTelling));
  for (const hook of hooks)
    addListener(scope, { hook, call: handlerFor(hook, names, call, ports), shownAs: eventNameIn(hook) }, options);
}

/**
 * `api.registerProvider({id, auth, catalog, …})`: a provider of models. Its functions that are never called are noted, and so
 * are the ways to log in that this gateway does not have.
 */
function registerProvider(scope: PluginScope, given: unknown): void {
  const provider = objectOf(given, "registerProvider");
  const id = nameIn(provider, "id", "registerProvider");
  noteUnused(scope, provider);
  const keyVariables = [...new Set(textsIn(provider, "envVars"))];
  scope.registry.addModelProvider({
    id,
    aliases: textsIn(provider, "aliases") ?? [],
    keyVariables,
    // Older plugins bring their settings as data.
    settings: isFields(provider["models"]) ? readProvider(provider["models"], (key) => key) : {},
    methods: methodsOf(new ProviderParts(scope, id, provider), keyVariables),
  });
}

/** Keys can be stored and come from the environment; every other login needs code of the field's own set-up. */
const KEY_KINDS = new Set(["api_key", "token"]);

function noteUnused(scope: PluginScope, provider: Fields): void {
  for (const [name, value] of Object.entries(provider))
    if (typeof value === "function" && !CALLED.has(name)) scope.neverCalled.add(`registerProvider.${name}`);
  const methods = Array.isArray(provider["auth"]) ? provider["auth"].filter(isFields) : [];
  for (const method of methods) {
    const kind = textIn(method, "kind") ?? "custom";
    if (!KEY_KINDS.has(kind)) scope.notServed.add(`registerProvider.auth (${textIn(method, "id") ?? kind}: ${kind})`);
  }
}

/** `api.registerService({id, start(context), stop(context)})`. It is started with the gateway, or at once when that runs already. */
function registerService(scope: PluginScope, given: unknown): void {
  const service = objectOf(given, "registerService");
  const id = nameIn(service, "id", "registerService");
  const start = methodIn(service, "start", `the service "${id}"`);
  const stop = optionalMethodIn(service, "stop");
  const context = () => ({
    config: scope.shownConfig(),
    workspaceDir: scope.ports.workspace(),
    stateDir: scope.ports.stateDir,
    pluginStateDir: pluginStateDir(scope.ports.stateDir, scope.id),
    logger: pluginLogger(scope.log),
    signal: scope.signal,
  });
  scope.services.push({
    id,
    start: async () => void (await scope.call(`service ${id} start`, () => start(context()))),
    stop: async () => void (await scope.call(`service ${id} stop`, () => stop?.(context()))),
  });
}
