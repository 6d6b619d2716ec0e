import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import { configSchemaOf } from "../manifest/config-schema.ts";
import type { PluginCost } from "../api/watch.ts";

export type PluginState = "loaded" | "off" | "failed" | "broken";

interface PluginFacts {
  readonly id: string;
  readonly root: string;
  readonly origin: string;
  readonly version?: string;
}

/** Facts about a plugin that is loaded. */
interface LoadFacts {
  /** Milliseconds of import and registration. */
  readonly loadMs?: number;
  /** When this process first ran the code in its folder, epoch milliseconds. It keeps that code. */
  readonly codeSince?: number;
  readonly cost?: PluginCost;
}

/** State of a plugin that was found. */
export interface PluginRecord extends PluginFacts, LoadFacts {
  readonly state: PluginState;
  /** Why the plugin is not loaded, as half a sentence. */
  readonly why?: string;
  /** Code of `docs/reference/errors.md`. */
  readonly code?: string;
  /** The step to take, as a sentence. */
  readonly fix?: string;
  /** Names of the plugin's contributions, by kind. */
  readonly added?: Readonly<Record<string, readonly string[]>>;
  /** Modules and exports of the SDK that its code imports only later, and this gateway does not have; each with the file. */
  readonly missing?: readonly string[];
  /**
   * Members of the API that the plugin called and this gateway does not have, and registrations of the plugin that are
   * never called: hooks, and functions of providers.
   */
  readonly notServed?: readonly string[];
  readonly neverCalled?: readonly string[];
  /** Tools and commands that the gateway did not take, each with the reason. */
  readonly refusedParts?: readonly string[];
  /** Hooks that are not called because the plugin may not read conversations. */
  readonly refusedHooks?: readonly string[];
}

/** Why a plugin is left out. */
export interface PluginProblem {
  /** Code of `docs/reference/errors.md`. */
  readonly code?: string;
  /** Half a sentence. */
  readonly why: string;
  readonly fix?: string;
}

/** Why the plugin's own schema refuses its settings, and which key is to be corrected. */
export function refusedSettings({ manifest }: FoundPlugin, config: unknown): PluginProblem | undefined {
  const checked = configSchemaOf(manifest).safeParse(config ?? {});
  if (checked.success) return undefined;
  const [issue] = checked.error.issues;
  const key = ["plugins.entries", manifest.id, "config", ...(issue?.path ?? []).map(String)].join(".");
  const why = `its settings are wrong: ${key}: ${issue?.message ?? "refused"}`;
  return { why, fix: `Correct ${key}: openclaw config set ${key} <value>` };
}

/** Facts in the record of every plugin with a manifest. */
export function recordFacts({ manifest, package: pack, root, origin }: FoundPlugin): PluginFacts {
  const version = pack.version ?? manifest.version;
  return { id: manifest.id, root, origin, ...(version !== undefined && { version }) };
}
