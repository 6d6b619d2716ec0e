import { envKey, keyVariables } from "../../../../providers/keys.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { Secret } from "../../../../types/secret.ts";
import { readDuration } from "../../../../utils/time/duration.ts";
import {
  KEY_CHOICES,
  REFUSED_CHOICES,
  SERVER_CHOICES,
  type KeyChoice,
  type ServerChoice,
} from "../../provider-choices.ts";
import { checkId } from "../models/models-auth.ts";
import type { ModelWish, ServerApi } from "../../../onboard/connect-model.ts";
import { customProvider } from "../../../onboard/model-choices.ts";
import { foundModels } from "./detect.ts";
import { isOn, flagText, type Flags } from "./flags.ts";
import type { SetupScene } from "./scene.ts";

/** The model that the flags name; undefined when none is wanted. Throws USAGE. */
export async function wishFrom(scene: SetupScene, flags: Flags): Promise<ModelWish | undefined> {
  const choice = flagText(flags, "auth-choice") ?? impliedChoice(flags);
  if (choice === "skip") return undefined;
  if (choice === undefined) return foundWish(scene);
  const byKey = KEY_CHOICES.find((one) => one.choice === choice);
  if (byKey) return keyWish(scene, byKey, flags);
  const server = SERVER_CHOICES.find(({ choices }) => choices.includes(choice));
  if (server) return serverWish(scene, server, flags);
  if (choice === "custom-api-key") return customWish(scene, flags);
  if (choice === "token" || choice === "setup-token") return tokenWish(flags);
  throw unknownChoice(choice);
}

/** The choice that a given key or address means. */
function impliedChoice(flags: Flags): string | undefined {
  if (flagText(flags, "custom-base-url") !== undefined) return "custom-api-key";
  const keys = KEY_CHOICES.filter(({ flag }) => flagText(flags, flag) !== undefined);
  const providers = new Set(keys.map(({ flag }) => flag));
  if (providers.size > 1)
    throw usage(
      `Several keys are given: ${[...providers].map((name) => `--${name}`).join(", ")}.`,
      "Give one, or say which with --auth-choice.",
    );
  return keys[0]?.choice;
}

/** The first model that this machine offers. Throws USAGE when there is none but the demo. */
async function foundWish(scene: SetupScene): Promise<ModelWish> {
  const [found] = await foundModels(scene);
  if (found) return found.wish;
  throw usage(
    "No model is named, and none was found on this machine.",
    "Name one with --auth-choice and its key, or set up without a model: --auth-choice skip.",
  );
}

function unknownChoice(choice: string): OpenClawError {
  const why = REFUSED_CHOICES.get(choice);
  if (why !== undefined) return usage(`--auth-choice ${choice} is not possible here.`, why);
  const known = [...KEY_CHOICES.map((one) => one.choice), ...SERVER_CHOICES.flatMap(({ choices }) => choices)];
  return usage(
    `There is no --auth-choice ${choice} here.`,
    `Choices: ${[...known, "custom-api-key", "token", "setup-token", "skip"].join(", ")}. Any other server: custom-api-key.`,
  );
}

/** A key of the environment or a flag, stored or referred to. */
type GivenKey = Pick<ModelWish, "key" | "keep">;

interface Place {
  readonly provider: string;
  /** The flag that gives the key, without dashes. */
  readonly flag: string;
  readonly variables: readonly string[];
}

/** Throws USAGE for `--secret-input-mode ref` without the variable, or with another key in it. */
function givenKey(
  { io }: Pick<SetupScene, "io">,
  { provider, flag, variables }: Place,
  flags: Flags,
): GivenKey | undefined {
  const typed = flagText(flags, flag);
  const found = envKey(provider, io.env, variables);
  if (flagText(flags, "secret-input-mode") === "ref") {
    if (!found)
      throw usage(
        `--secret-input-mode ref keeps no key, and ${variables.join(" or ")} is not set.`,
        `Set ${variables[0] ?? "the variable"} for this command and for the gateway.`,
      );
    if (typed !== undefined && typed !== found.key)
      throw usage(
        `--${flag} is not the key that ${found.variable} has.`,
        "Leave the flag out, or set the variable to it.",
      );
    return { key: new Secret(found.key), keep: { as: "variable", name: found.variable } };
  }
  if (typed === undefined) return undefined;
  const key = typed.trim();
  if (key === "" || /\s/.test(key)) throw usage(`--${flag} is no key: a key is one word.`, "Give the whole key.");
  return { key: new Secret(key) };
}

/** A key that is not given is one that the gateway finds already, in the environment or stored. */
function keyWish(scene: SetupScene, { provider, flag, model, baseUrl }: KeyChoice, flags: Flags): ModelWish {
  const given = givenKey(scene, { provider, flag, variables: keyVariables(provider) }, flags);
  return {
    provider,
    model: flagText(flags, "custom-model-id") ?? model,
    ...given,
    ...(baseUrl !== undefined && { server: { baseUrl } }),
  };
}

/** Without `--custom-model-id`, the first model that the server lists. */
function serverWish(scene: SetupScene, row: ServerChoice, flags: Flags): ModelWish {
  const { provider, flag = "custom-api-key" } = row;
  return {
    provider,
    model: flagText(flags, "custom-model-id") ?? "",
    ...givenKey(scene, { provider, flag, variables: [variableOf(flag)] }, flags),
    server: {
      baseUrl: addressFrom(flagText(flags, "custom-base-url"), provider) ?? row.baseUrl,
      api: "openai-completions",
    },
  };
}

const variableOf = (flag: string): string => flag.toUpperCase().replaceAll("-", "_");

const APIS: Readonly<Record<string, ServerApi>> = {
  openai: "openai-completions",
  "openai-responses": "openai-responses",
  anthropic: "anthropic-messages",
};

function customWish(scene: SetupScene, flags: Flags): ModelWish {
  const [baseUrl, id] = [addressFrom(flagText(flags, "custom-base-url")), flagText(flags, "custom-model-id")];
  if (baseUrl === undefined || id === undefined)
    throw usage(
      "A custom provider needs its address and a model.",
      "Add --custom-base-url <url> --custom-model-id <id>.",
    );
  const provider = flagText(flags, "custom-provider-id") ?? customProvider(baseUrl);
  if (!/^[a-z0-9][a-z0-9_.-]*$/i.test(provider))
    throw usage(`"${provider}" is no name of a provider.`, "Use letters, digits, - and _ for --custom-provider-id.");
  const input = inputFrom(flags);
  return {
    provider,
    model: id,
    ...givenKey(scene, { provider, flag: "custom-api-key", variables: ["CUSTOM_API_KEY"] }, flags),
    server: {
      baseUrl,
      api: APIS[flagText(flags, "custom-compatibility") ?? "openai"] ?? "openai-completions",
      ...(input && { input }),
    },
  };
}

function inputFrom(flags: Flags): readonly ("text" | "image")[] | undefined {
  const [image, text] = [isOn(flags, "custom-image-input"), isOn(flags, "custom-text-input")];
  if (image && text) throw usage("--custom-image-input and --custom-text-input exclude each other.", "Give one.");
  if (image) return ["text", "image"];
  return text ? ["text"] : undefined;
}

/** Ollama's own address is given without the path of its OpenAI-compatible API. */
function addressFrom(text: string | undefined, provider?: string): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw usage(`"${text}" is no http:// or https:// address.`, "Give --custom-base-url as http://127.0.0.1:8000/v1.");
  return provider === "ollama" && url.pathname === "/" ? `${url.origin}/v1` : text.replace(/\/+$/, "");
}

/** A token of a subscription, such as one of `claude setup-token`. */
function tokenWish(flags: Flags): ModelWish {
  const [token, provider] = [flagText(flags, "token")?.trim(), flagText(flags, "token-provider") ?? "anthropic"];
  if (flagText(flags, "secret-input-mode") === "ref")
    throw usage(
      "A token is stored, and not referred to.",
      "Leave --secret-input-mode ref out, or set ANTHROPIC_OAUTH_TOKEN.",
    );
  if (token === undefined || token === "" || /\s/.test(token))
    throw usage("The token is missing, or is not one word.", "Add --token <token>; `claude setup-token` prints one.");
  const profileId = flagText(flags, "token-profile-id") ?? `${provider}:manual`;
  checkId(profileId, provider);
  const model = KEY_CHOICES.find((row) => row.provider === provider)?.model;
  const id = flagText(flags, "custom-model-id") ?? model;
  if (id === undefined)
    throw usage(
      `No model of ${provider} is known here.`,
      "Name it with --custom-model-id, or the provider with --token-provider.",
    );
  const keep = { as: "token" as const, profileId, ...expiryFrom(flags) };
  return { provider, model: id, key: new Secret(token), keep };
}

function expiryFrom(flags: Flags): { expires?: number } {
  const text = flagText(flags, "token-expires-in");
  if (text === undefined) return {};
  const ms = readDuration(text);
  if (ms === undefined) throw usage(`"${text}" is no duration.`, "Write --token-expires-in as 12h or 365d.");
  return { expires: Date.now() + ms };
}

const usage = (message: string, fix: string): OpenClawError => new OpenClawError("USAGE", { message, fix });
