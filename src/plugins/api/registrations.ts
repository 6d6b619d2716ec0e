import { registerChannel } from "./registrations/channel/register-channel.ts";
import { registerCli } from "./registrations/cli.ts";
import { registerCommand } from "./registrations/commands.ts";
import { registerContextEngine } from "./registrations/engines.ts";
import { on, registerTrustedToolPolicy } from "./registrations/hooks.ts";
import { registerHttpHandler, registerHttpRoute } from "./registrations/http.ts";
import { noMemory, registerMemoryCapability, registerMemorySupplement } from "./registrations/memory.ts";
import { registerHook } from "./registrations/internal-hooks.ts";
import { registerGatewayMethod } from "./registrations/methods.ts";
import { registerProvider } from "./registrations/provider/register-provider.ts";
import { registerService } from "./registrations/services.ts";
import { registerTool, type NamelessFactories } from "./registrations/tools.ts";
import { registerWebSearchProvider } from "./registrations/web-search.ts";
import type { PluginScope } from "./scope.ts";

/** `api.on` and the members `api.registerX`. Each may throw. */
export function registrationsOf(scope: PluginScope) {
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
