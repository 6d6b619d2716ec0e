import type { PluginProblem } from "./check-plugins.ts";

/** What a loaded plugin asked for and did not get; see `PluginRecord`. */
interface UnmetParts {
  readonly missing?: readonly string[] | undefined;
  readonly notServed?: readonly string[] | undefined;
  readonly neverCalled?: readonly string[] | undefined;
  readonly refusedParts?: readonly string[] | undefined;
  readonly refusedHooks?: readonly string[] | undefined;
}

/** What is known of a plugin that a process loaded or could not load. */
export interface LoadedPlugin extends UnmetParts {
  readonly id: string;
  readonly state: string;
  readonly root?: string | undefined;
  readonly version?: string | undefined;
  readonly why?: string | undefined;
  readonly fix?: string | undefined;
  readonly codeSince?: number | undefined;
  readonly added?: Readonly<Record<string, readonly string[]>> | undefined;
  readonly cost?:
    | { readonly calls: number; readonly failed: number; readonly lastError?: string | undefined }
    | undefined;
}

/** Problems that only the plugin's code shows: it cannot be loaded, or asks for what this gateway does not have. */
export const loadedProblems = (records: readonly LoadedPlugin[]): readonly PluginProblem[] =>
  records.flatMap((record) => [...failed(record), ...unmet(record)]);

function failed({ id, state, why, fix }: LoadedPlugin): readonly PluginProblem[] {
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
}: LoadedPlugin): readonly PluginProblem[] {
  const warn = (names: readonly string[], what: string, fix: string): readonly PluginProblem[] =>
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
