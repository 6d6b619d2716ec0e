import type { PluginsConfig } from "../config.ts";
import { activationOf } from "./activation.ts";
import type { Discovered } from "./discover.ts";

/** Why a provider of a plugin that was found is not there, as a sentence. Undefined when no plugin names the provider. */
export function providerAbsence({ plugins }: Discovered, config: PluginsConfig, provider: string): string | undefined {
  const found = plugins.find(({ manifest }) => manifest.providers.includes(provider));
  if (!found) return undefined;
  const { id } = found.manifest;
  const activation = activationOf(found, config);
  const why = activation.isOn ? `openclaw plugins inspect ${id} --runtime says why` : activation.reason;
  return `The provider "${provider}" comes with the plugin ${id}, which is not loaded: ${why}.`;
}
