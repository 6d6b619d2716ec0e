import { propertyOf } from "../../utils/own.ts";

export interface ProviderCatalogContext {
  readonly config?: unknown;
  resolveProviderApiKey(provider?: string): { readonly apiKey: string | undefined };
}

interface Building {
  readonly ctx: ProviderCatalogContext;
  readonly providerId: string;
  buildProvider(): object | Promise<object>;
  /** `models.providers.<id>.baseUrl` counts instead of the address that `buildProvider` gives. */
  readonly allowExplicitBaseUrl?: boolean;
}

/** The answer of `catalog.run` for a provider with one key; null while there is none. */
export async function buildSingleProviderApiKeyCatalog(building: Building): Promise<{ provider: object } | null> {
  const { ctx, providerId, buildProvider, allowExplicitBaseUrl } = building;
  const { apiKey } = ctx.resolveProviderApiKey(providerId);
  if (apiKey === undefined || apiKey === "") return null;
  const configured = propertyOf(propertyOf(propertyOf(ctx.config, "models"), "providers"), providerId);
  const baseUrl = allowExplicitBaseUrl === true ? propertyOf(configured, "baseUrl") : undefined;
  return { provider: { ...(await buildProvider()), ...(typeof baseUrl === "string" && { baseUrl }), apiKey } };
}
