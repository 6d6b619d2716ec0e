/** `openclaw/plugin-sdk/provider-entry`. */
import { definePluginEntry, type OpenClawPluginApi, type PluginEntryDefinition } from "./plugin-entry.ts";
import { createProviderApiKeyAuthMethod, type ApiKeyAuthOptions } from "./parts/provider-auth-api-key.ts";
import { buildSingleProviderApiKeyCatalog, type ProviderCatalogContext } from "./parts/provider-catalog-shared.ts";

export { buildSingleProviderApiKeyCatalog, createProviderApiKeyAuthMethod };

type Catalog =
  | { readonly run: (ctx: ProviderCatalogContext) => unknown; readonly staticRun?: () => unknown }
  | {
      readonly buildProvider: () => object | Promise<object>;
      readonly buildStaticProvider?: () => object | Promise<object>;
      readonly allowExplicitBaseUrl?: boolean;
    };

export interface SingleProviderOptions extends Omit<PluginEntryDefinition, "register"> {
  readonly provider?: Readonly<Record<string, unknown>> & {
    /** The plugin's id when unset. */
    readonly id?: string;
    readonly label: string;
    readonly auth?: readonly Omit<ApiKeyAuthOptions, "providerId">[];
    readonly extraAuth?: readonly object[];
    readonly envVars?: readonly string[];
    readonly catalog: Catalog;
  };
  register?(api: OpenClawPluginApi): void;
}

/** The entry of a plugin that brings one provider of models. Parts of `provider` that are not named here are passed on. */
export function defineSingleProviderPluginEntry({ provider, register, ...rest }: SingleProviderOptions) {
  return definePluginEntry({
    ...rest,
    register(api) {
      if (provider) api.registerProvider(providerOf(rest.id, provider));
      register?.(api);
    },
  });
}

function providerOf(pluginId: string, provider: NonNullable<SingleProviderOptions["provider"]>): object {
  const { id = pluginId, auth = [], extraAuth = [], envVars = [], catalog, ...rest } = provider;
  const variables = [...envVars, ...auth.map(({ envVar }) => envVar)].filter((name) => name !== undefined);
  return {
    ...rest,
    id,
    envVars: [...new Set(variables)],
    auth: [...auth.map((method) => createProviderApiKeyAuthMethod({ ...method, providerId: id })), ...extraAuth],
    ...cataloguesOf(id, catalog),
  };
}

function cataloguesOf(providerId: string, catalog: Catalog): object {
  if ("run" in catalog) {
    const { run, staticRun } = catalog;
    return { catalog: { run }, ...(staticRun && { staticCatalog: { run: staticRun } }) };
  }
  const { buildStaticProvider } = catalog;
  return {
    catalog: {
      run: (ctx: ProviderCatalogContext) => buildSingleProviderApiKeyCatalog({ ctx, providerId, ...catalog }),
    },
    ...(buildStaticProvider && {
      staticCatalog: { run: async () => ({ provider: await buildStaticProvider() }) },
    }),
  };
}
