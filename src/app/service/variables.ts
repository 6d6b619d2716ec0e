import type { Contributions } from "../../plugins/contributions.ts";
import { KEY_VARIABLES } from "../../providers/keys.ts";
import { keyVariableOf } from "../../providers/speech/services.ts";
import { PROVIDERS } from "../../tools/web/search/table.ts";
import type { Env } from "../../utils/env.ts";
import { loginVariables } from "../config/gateway-login.ts";
import type { LoadedConfig } from "../config/load.ts";
import { readTextFile } from "../../store/text-file.ts";

/** Variables of an environment that a gateway reads, which is started without that environment. */
export interface ServiceVariables {
  /** The gateway does not start as it is meant to without these: the config refers to them, or they are its login. */
  readonly needed: readonly string[];
  /** Keys that the gateway finds by the names of providers. */
  readonly found: readonly string[];
}

/** All that a gateway of this config reads of an environment and that a service has to be given. Variables that are not set are left out. */
export function serviceVariables(
  { config, variables }: Pick<LoadedConfig, "config" | "variables">,
  { env, contributions }: { readonly env: Env; readonly contributions: Contributions },
): ServiceVariables {
  const isSet = (name: string) => Boolean(env[name]);
  const needed = [...new Set([...variables, ...loginVariables(config, env)])].filter(isSet);
  const byName = [
    ...KEY_VARIABLES,
    ...contributions.modelProviders.flatMap(({ keyVariables }) => keyVariables),
    ...PROVIDERS.flatMap(({ keyVariables }) => keyVariables),
    ...Object.keys(config.messages.tts.providers).flatMap((name) => keyVariableOf(name) ?? []),
    ...REGISTRY_VARIABLES,
  ];
  return { needed, found: [...new Set(byName)].filter((name) => isSet(name) && !needed.includes(name)) };
}

const REGISTRY_VARIABLES = ["CLAWHUB_TOKEN", "CLAWHUB_AUTH_TOKEN"];

/** The names in the service's file of variables; none without the file. */
export async function keptVariables(secretsFile: string): Promise<readonly string[]> {
  const text = (await readTextFile(secretsFile)) ?? "";
  return text.split("\n").flatMap((line) => /^([A-Za-z_]\w*)=/.exec(line)?.[1] ?? []);
}
