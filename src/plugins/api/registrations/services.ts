import { methodIn, nameIn, objectOf, optionalMethodIn } from "../foreign.ts";
import { pluginStateDir } from "../../state-dir.ts";
import { pluginLogger } from "../logging.ts";
import type { PluginScope } from "../scope.ts";

/** `api.registerService({id, start(context), stop(context)})`. It is started with the gateway, or at once when that runs already. */
export function registerService(scope: PluginScope, given: unknown): void {
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
