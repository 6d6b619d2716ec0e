import type { ProviderAccess, ProviderSettings } from "../../../../types/run/model-provider.ts";
import { Secret } from "../../../../types/secret.ts";
import { isFields } from "../../../../utils/fields.ts";
import { textIn } from "../../foreign.ts";
import type { ProviderParts } from "./parts.ts";
import { readProvider } from "./settings.ts";

/** The parts of a provider object that say its models, the preferred one first; `discovery` is the older name of `catalog`. */
const CATALOGUES = ["catalog", "discovery", "staticCatalog"];

/** Asks the catalogues of a provider, in this order, for its address and models. `variables` may hold its key. */
export async function discover(
  parts: ProviderParts,
  variables: readonly string[],
  found: ProviderAccess | undefined,
): Promise<ProviderSettings | undefined> {
  const access = found ?? ownAccess(parts);
  const keyOf = (text: string) => (variables.includes(text) ? (process.env[text] ?? text) : text);
  for (const name of CATALOGUES) {
    const answer: unknown = await parts.part(name)?.ask("run", catalogContext(parts, access));
    const provider = providerIn(answer, parts.id);
    if (provider) return { ...readProvider(provider, keyOf), ...(!found && access && { apiKey: access.key }) };
  }
  return undefined;
}

/** A key that the provider has without a person's doing, such as that of a server on this machine. */
function ownAccess(parts: ProviderParts): ProviderAccess | undefined {
  const { id: provider, scope } = parts;
  const answer = parts.call("resolveSyntheticAuth", { provider, config: scope.shownConfig() });
  const key = isFields(answer) ? textIn(answer, "apiKey") : undefined;
  if (key === undefined || key === "") return undefined;
  return { key: new Secret(key), mode: "api_key", profile: `${provider}:plugin` };
}

function providerIn(answer: unknown, id: string) {
  if (!isFields(answer)) return undefined;
  const { provider, providers } = answer;
  if (isFields(provider)) return provider;
  const own = isFields(providers) ? providers[id] : undefined;
  return isFields(own) ? own : undefined;
}

/** The provider gets its own key, never that of another one. */
function catalogContext({ id, scope }: ProviderParts, access: ProviderAccess | undefined): object {
  const isMine = (provider: unknown) => provider === undefined || provider === id;
  const apiKey = access?.key.reveal();
  const keyFor = (provider: unknown) =>
    isMine(provider) ? { apiKey, discoveryApiKey: apiKey } : { apiKey: undefined };
  return {
    config: scope.shownConfig(),
    workspaceDir: scope.ports.workspace(),
    env: process.env,
    resolveProviderApiKey: keyFor,
    resolveProviderAuth: (provider: unknown) => ({
      ...keyFor(provider),
      ...(access && isMine(provider)
        ? { mode: access.mode, source: access.profile.endsWith(":env") ? "env" : "profile", profileId: access.profile }
        : { mode: "none", source: "none" }),
    }),
  };
}
