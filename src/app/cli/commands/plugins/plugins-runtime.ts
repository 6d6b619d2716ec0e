import { OpenClawError } from "../../../../types/errors.ts";
import { pluginAnswers, type LoadedPlugin } from "../../../../types/answers/plugins.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState } from "../../state.ts";
import { pairs } from "../../table.ts";

/** Shows a plugin as the running gateway has it. Throws `GATEWAY_UNREACHABLE`, and `NOT_FOUND` for a plugin that it does not know. */
export async function pluginsRuntime(
  io: Io,
  id: string | undefined,
  flags: { readonly json?: boolean },
): Promise<number> {
  const { plugins } = await callOnce(io, await requireState(io), {
    method: "plugins.loaded",
    shape: pluginAnswers.loaded,
  });
  const chosen = id === undefined ? plugins : plugins.filter((plugin) => plugin.id === id);
  if (id !== undefined && chosen.length === 0)
    throw new OpenClawError("NOT_FOUND", {
      message: `The running gateway knows no plugin "${id}".`,
      fix: "Run: openclaw plugins list",
    });
  if (flags.json === true) writeJson(io, id === undefined ? { plugins: chosen } : chosen[0]);
  else io.out(chosen.map((plugin) => pairs(io, rowsOf(plugin))).join("\n"));
  return 0;
}

function rowsOf({
  id,
  state,
  why,
  version,
  added = {},
  cost,
  ...plugin
}: LoadedPlugin): [string, string | undefined][] {
  const listed = (list: readonly string[] | undefined) => list?.join(", ");
  return [
    ["id", id],
    ["version", version],
    ["state", why === undefined ? state : `${state}: ${why}`],
    ["fix", plugin.fix],
    ["loaded in", plugin.loadMs === undefined ? undefined : `${plugin.loadMs} ms`],
    ...Object.entries(added).map(([kind, list]): [string, string | undefined] => [kind, listed(list)]),
    ["hooks without consent", listed(plugin.refusedHooks)],
    ["never called", listed(plugin.neverCalled)],
    ["missing in the SDK", listed(plugin.missing)],
    ["not taken", listed(plugin.refusedParts)],
    ["not available here", listed(plugin.notServed)],
    ["calls", cost && `${cost.calls}, ${cost.busyMs} ms of the gateway's time, ${cost.failed} failed`],
    ["blocked the gateway", cost && cost.blocked > 0 ? `${cost.blocked} times` : undefined],
    ["memory", cost?.heapMb === undefined ? undefined : `holds ${cost.heapMb} MB of the heap`],
    ["longest call", blockText(cost?.longest)],
    ["latest long call", blockText(cost?.latest)],
    ["last error", cost?.lastError],
  ];
}

function blockText(block: { what: string; ms: number; at?: number | undefined } | undefined): string | undefined {
  if (!block) return undefined;
  // A gateway of an older version does not say when it was.
  const at = block.at === undefined ? "" : `, at ${new Date(block.at).toISOString()}`;
  return `${block.what}, ${block.ms} ms${at}`;
}
