import type { Fault, LoadedPlugin } from "../../types/answers/plugins.ts";
import type { PluginCheckProblem } from "./check-plugins.ts";

export interface PluginView {
  readonly records: readonly LoadedPlugin[];
  /** Parts of plugins that the config names and that do not work. */
  readonly faults: readonly Fault[];
  /** Whether a gateway runs and has answered; else this process has loaded the plugins, as the gateway would. */
  readonly isGateway: boolean;
}

/**
 * Problems that only a plugin's code shows: the plugin cannot be loaded, a part that the config names does not work,
 * calls fail, or the plugin asks for parts that this gateway does not have.
 */
export function loadedProblems({
  records,
  faults,
}: Pick<PluginView, "records" | "faults">): readonly PluginCheckProblem[] {
  const notLoaded = new Set(records.flatMap(({ id, state }) => (state === "failed" ? [id] : [])));
  return [
    ...records.flatMap((record) => [...failed(record), ...failing(record), ...unmet(record)]),
    // Nothing of a plugin that is not loaded works, so its faults say no more.
    ...faults.filter(({ plugin }) => plugin === undefined || !notLoaded.has(plugin)).map(problemOf),
  ];
}

const problemOf = ({ kind, name, plugin = name, message, fix }: Fault): PluginCheckProblem => ({
  severity: kind === "tool" ? "warn" : "fail",
  id: plugin,
  message,
  fix,
});

function failing({ id, cost }: LoadedPlugin): readonly PluginCheckProblem[] {
  if (cost?.lastError === undefined) return [];
  const message = `${cost.failed} of the ${cost.calls} calls of its code failed. The latest: ${cost.lastError}`;
  return [{ severity: "warn", id, message, fix: "The log of the gateway has them: openclaw logs" }];
}

function failed({ id, state, why, fix }: LoadedPlugin): readonly PluginCheckProblem[] {
  if (state !== "failed") return [];
  const usual = `Run: openclaw plugins update ${id}, or: openclaw plugins disable ${id}`;
  return [{ severity: "fail", id, message: `It is not loaded: ${why ?? "no reason is known"}.`, fix: fix ?? usual }];
}

function unmet({
  id,
  missing = [],
  notServed = [],
  neverCalled = [],
  refusedParts = [],
  refusedHooks = [],
}: LoadedPlugin): readonly PluginCheckProblem[] {
  const warn = (names: readonly string[], what: string, fix: string): readonly PluginCheckProblem[] =>
    names.length === 0 ? [] : [{ severity: "warn", id, message: `${what}: ${names.join(", ")}.`, fix }];
  const without = "Nothing to do if you do not need that part of the plugin.";
  return [
    ...warn(
      missing,
      "It imports parts of the SDK that this gateway does not have, and fails when it gets there",
      without,
    ),
    ...warn(refusedParts, "The gateway does not take some of what it registers", without),
    ...warn(notServed, "It called parts of the plugin API that this gateway does not have", without),
    ...warn(neverCalled, "It registers hooks or functions that this gateway never calls", without),
    ...warn(
      refusedHooks,
      "Hooks of it that would read conversations are not called",
      `Allow it with: openclaw config set plugins.entries.${id}.hooks.allowConversationAccess true`,
    ),
  ];
}
