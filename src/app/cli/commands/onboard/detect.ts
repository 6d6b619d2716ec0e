import { Credentials } from "../../../../providers/auth/credentials.ts";
import { KEYED_PROVIDERS, LOGIN_PROVIDERS } from "../../../../providers/keys.ts";
import { modelName } from "../../../../types/run/model.ts";
import type { ModelWish } from "../../../onboard/connect-model.ts";
import { detectChoices } from "../../../onboard/model-choices.ts";
import { mainAgent, type SetupScene } from "./scene.ts";

/** A model that this machine offers, and where it was found. */
export interface FoundModel {
  readonly wish: ModelWish;
  readonly from: string;
}

/**
 * The models that can be used without typing anything, the best first: that of the config, those of stored keys and logins, of keys
 * in the environment, of servers on this machine. Nothing is downloaded. Throws when the file of the keys is broken.
 */
export async function foundModels(scene: SetupScene): Promise<readonly FoundModel[]> {
  const { config, paths } = scene.state;
  const { primary } = mainAgent(scene).model;
  const { profiles } = await new Credentials(paths.credentials).read();
  const stored = new Set([...profiles.values()].map(({ provider }) => provider));
  const usual = [...KEYED_PROVIDERS.map(({ provider, model }) => ({ provider, id: model })), ...LOGIN_PROVIDERS];
  const configured = Object.entries(config.models.providers).flatMap(([provider, { models = [] }]) =>
    models.slice(0, 1).map(({ id }) => ({ provider, id })),
  );
  const detected = await detectChoices(scene.io.env);
  const found: readonly FoundModel[] = [
    ...[...(primary ? [primary] : []), ...configured].map(({ provider, id }) => ({
      wish: { provider, model: id },
      from: "the config",
    })),
    ...usual
      .filter(({ provider }) => stored.has(provider))
      .map(({ provider, id }) => ({ wish: { provider, model: id }, from: "a stored key" })),
    ...detected.map(({ provider, label, model, variable, server }) => ({
      wish: {
        provider,
        model,
        ...(server && { server: { baseUrl: server.baseUrl, api: "openai-completions" as const } }),
      },
      from: server ? `${label} at ${new URL(server.baseUrl).host}` : `${variable ?? "a key"} of this terminal`,
    })),
  ];
  const names = found.map(({ wish }) => wishName(wish));
  return found.filter((_one, at) => names.indexOf(names[at] ?? "") === at);
}

/** `provider/model` */
export const wishName = ({ provider, model }: ModelWish): string => modelName({ provider, id: model });
