import type { RegistrationMode } from "../api/plugin-api.ts";
import type { PluginScope } from "../api/scope.ts";
import { missingSdk } from "../load/missing-sdk.ts";
import type { SdkUrls } from "../load/sdk-resolution.ts";
import { noGuard, type LoadGuard } from "../trial/guard.ts";

/** How a process loads plugins. */
export interface LoadWay {
  readonly mode: RegistrationMode;
  readonly guard: LoadGuard;
  /** Absolute folder of the gateway's own code, without links. */
  readonly ownRoot?: string;
  /** Where the modules of the SDK are: with it, plugins are searched for uses of what is missing. */
  readonly sdk?: SdkUrls;
}

/** Where nothing else is said. */
export const USUAL_WAY: LoadWay = { mode: "full", guard: noGuard };

/** Notes and logs what a loaded plugin imports only later, and would fail then. */
export async function noteMissing({ plugin, log, missing }: PluginScope, { sdk }: LoadWay): Promise<void> {
  const found = sdk ? await missingSdk(plugin.root, sdk) : [];
  if (found.length === 0) return;
  for (const one of found) missing.add(one);
  const fix = `Nothing to do if you do not need that part; else run: openclaw plugins update ${plugin.manifest.id}`;
  log.warn("plugin uses parts of the SDK that this gateway does not have", { missing: found, fix });
}
