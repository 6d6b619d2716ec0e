import { Credentials } from "../../../../providers/auth/credentials.ts";
import { envKey, KEYED_PROVIDERS, LOGIN_PROVIDERS } from "../../../../providers/keys.ts";
import { findLocalModels } from "../../../../providers/local.ts";
import { modelName } from "../../../../types/run/model.ts";
import { SERVER_CHOICES } from "../../provider-choices.ts";
import type { Route } from "./route.ts";
import { mainAgent, type SetupScene } from "./scene.ts";

/** A model that this machine offers, and where it was found. */
export interface DetectedRoute {
  readonly route: Route;
  readonly from: string;
}

/**
 * The models that can be used without typing anything, the best first: that of the config, those of stored keys and logins, of keys
 * in the environment, of servers on this machine. Nothing is downloaded. Throws when the file of the keys is broken.
 */
export async function detectedRoutes(scene: SetupScene): Promise<readonly DetectedRoute[]> {
  const { config, paths } = scene.state;
  const { primary } = mainAgent(scene).model;
  const stored = [...(await new Credentials(paths.credentials).read()).profiles.values()].map(
    ({ provider }) => provider,
  );
  const usual = [...KEYED_PROVIDERS.map(({ provider, model }) => ({ provider, id: model })), ...LOGIN_PROVIDERS];
  const configured = Object.entries(config.models.providers).flatMap(([provider, { models = [] }]) =>
    models.slice(0, 1).map(({ id }) => ({ provider, id })),
  );
  const byKey = usual.filter(({ provider }) => stored.includes(provider));
  const byVariable = KEYED_PROVIDERS.flatMap(({ provider, model }) => {
    const found = envKey(provider, scene.io.env);
    return found ? [{ ref: { provider, id: model }, from: `${found.variable} of this terminal` }] : [];
  });
  const servers = (await findLocalModels()).map(({ provider, id, baseUrl }): DetectedRoute => ({
    route: { ref: { provider, id }, server: { baseUrl, api: "openai-completions" } },
    from: `${SERVER_CHOICES.find((row) => row.provider === provider)?.label ?? provider} at ${baseUrl}`,
  }));
  const found: readonly DetectedRoute[] = [
    ...(primary ? [{ route: { ref: primary }, from: "the config" }] : []),
    ...configured.map((ref) => ({ route: { ref }, from: "the config" })),
    ...byKey.map((ref) => ({ route: { ref }, from: "a stored key" })),
    ...byVariable.map(({ ref, from }) => ({ route: { ref }, from })),
    ...servers,
  ];
  const names = found.map(({ route }) => modelName(route.ref));
  return found.filter((_one, at) => names.indexOf(names[at] ?? "") === at);
}
