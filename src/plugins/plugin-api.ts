import { homedir } from "node:os";
import { join, isAbsolute, resolve } from "node:path";
import type { PluginDefinition } from "./load/definition.ts";
import { defined } from "../utils/defined.ts";
import { functionOf } from "./api/foreign.ts";
import { neverAsked, refused } from "./api/refused.ts";
import { registerSessionAction } from "./api/registrations/session-actions.ts";
import { pluginLogger } from "./api/logging.ts";
import { runtimeOf } from "./api/runtime/runtime.ts";
import type { PluginScope } from "./api/scope.ts";
import { registerChannel } from "./api/registrations/channel/register-channel.ts";
import { registerCli } from "./api/registrations/cli.ts";
import { registerCommand } from "./api/registrations/commands.ts";
import { registerContextEngine } from "./api/registrations/engines.ts";
import { on, registerTrustedToolPolicy } from "./api/registrations/hooks.ts";
import { registerHttpHandler, registerHttpRoute } from "./api/registrations/http.ts";
import { noMemory, registerMemoryCapability, registerMemorySupplement } from "./api/registrations/memory.ts";
import { registerHook } from "./api/registrations/internal-hooks.ts";
import { registerGatewayMethod } from "./api/registrations/methods.ts";
import { registerProvider } from "./api/registrations/provider/register-provider.ts";
import { registerService } from "./api/registrations/services.ts";
import { registerTool, type NamelessFactories } from "./api/registrations/tools.ts";
import { registerWebSearchProvider } from "./api/registrations/web-search.ts";

/**
 * `full`: the gateway runs the plugin. `discovery`: it is only looked at, and should open no store. `cli-metadata`: only its
 * commands of the command line are wanted.
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
    ...refused(scope, "api"),
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
      state: refused(scope, "api.session.state"),
      workflow: refused(scope, "api.session.workflow"),
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
    agent: { events: refused(scope, "api.agent.events") },
    runContext: refused(scope, "api.runContext"),
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
