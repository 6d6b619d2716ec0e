import type { Clock } from "../../types/clock.ts";
import { withinTold } from "../../utils/within.ts";
import type { PluginScope } from "../api/scope.ts";
import type { Contributions } from "../contributions.ts";
import type { AddedHook } from "../hook-table.ts";

/** Milliseconds for starting or stopping a service. */
const SERVICE_MS = 15_000;
/** The field's limit for hooks of the gateway's start and stop. */
const LIFE_HOOK_MS = 5000;

interface Around {
  readonly contributions: Contributions;
  readonly clock: Clock;
}

/** Calls `gateway_start` of a plugin and starts its services, each within a time limit. Never rejects. */
export async function startPlugin(scope: PluginScope, around: Around): Promise<void> {
  await callOwn(scope, ownHooks(scope, "gateway_start", around), around);
  for (const service of scope.services)
    await bounded(scope, around, { what: `service ${service.id} start`, work: service.start() });
}

/**
 * Makes the function that ends a plugin: calls `gateway_stop`, then stops its services, the latest first. The hooks are
 * the present ones: they may be removed before the end.
 */
export function stopperOf(scope: PluginScope, around: Around): () => Promise<void> {
  const hooks = ownHooks(scope, "gateway_stop", around);
  return async () => {
    await callOwn(scope, hooks, around);
    for (const service of scope.services.toReversed())
      await bounded(scope, around, { what: `service ${service.id} stop`, work: service.stop() });
  };
}

/** The plugin's own hooks of the gateway's life: others are not affected when one plugin comes or goes. */
const ownHooks = (scope: PluginScope, name: "gateway_start" | "gateway_stop", { contributions }: Around) =>
  contributions.hooksOf(name).filter(({ owner }) => owner === scope.id);

async function callOwn(scope: PluginScope, hooks: readonly AddedHook[], around: Around): Promise<void> {
  const call = async (hook: AddedHook) => void (await hook.handler({}, {}));
  for (const hook of hooks) {
    // Whatever the plugin asks for: the other plugins, and the end of the gateway, wait for it.
    const ms = Math.min(hook.options.timeoutMs ?? LIFE_HOOK_MS, SERVICE_MS);
    await bounded(scope, around, { what: `hook ${hook.name}`, work: call(hook), ms });
  }
}

interface Bounded {
  readonly what: string;
  readonly work: Promise<void>;
  readonly ms?: number;
}

/** Waits a bounded time; work that fails or hangs is logged. */
async function bounded(scope: PluginScope, { clock }: Around, { what, work, ms = SERVICE_MS }: Bounded): Promise<void> {
  const failed = (error: unknown) => scope.log.error("plugin failed", { call: what, error });
  try {
    if (!(await withinTold(work, ms, clock, failed))) scope.log.warn("plugin is late", { call: what, ms });
  } catch (error) {
    failed(error);
  }
}
