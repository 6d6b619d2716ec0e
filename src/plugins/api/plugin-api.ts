import { join, isAbsolute, resolve } from "node:path";
import { homedir } from "node:os";
import type { PluginDefinition } from "../load/definition.ts";
import { defined } from "../../utils/defined.ts";
import { functionOf } from "./foreign.ts";
import { neverAsked, refused } from "./refused.ts";
import { registerSessionAction } from "./registrations/session-actions.ts";
import { registrationsOf } from "./registrations.ts";
import { pluginLogger } from "./runtime/logging.ts";
import { runtimeOf } from "./runtime/runtime.ts";
import type { PluginScope } from "./scope.ts";

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
