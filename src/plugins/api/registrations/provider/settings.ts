import type { ModelSettings, ProviderSettings } from "../../../../types/run/model-provider.ts";
import { Secret } from "../../../../types/secret.ts";
import { defined } from "../../../../utils/defined.ts";
import { type Fields, isFields } from "../../../../utils/fields.ts";
import { numberIn, textIn } from "../../foreign.ts";

/** Reads a provider as the field's catalogues have it. `keyOf`: the key that a text means, which may be the name of a variable. */
export function readProvider(given: Fields, keyOf: (text: string) => string): ProviderSettings {
  const apiKey = textIn(given, "apiKey");
  const models = Array.isArray(given["models"]) ? given["models"] : [];
  return defined({
    baseUrl: textIn(given, "baseUrl"),
    api: textIn(given, "api"),
    apiKey: apiKey === undefined || apiKey.trim() === "" ? undefined : new Secret(keyOf(apiKey.trim())),
    headers: textsByName(given["headers"]),
    contextWindow: positiveIn(given, "contextWindow"),
    maxTokens: positiveIn(given, "maxTokens"),
    models: models.map(readModel).filter((model) => model !== undefined),
  });
}

/** Reads a model of such a provider. Undefined without an id; values that cannot be used are left out. */
export function readModel(given: unknown): ModelSettings | undefined {
  if (!isFields(given)) return undefined;
  const id = textIn(given, "id");
  if (id === undefined || id === "") return undefined;
  const { compat, reasoning } = given;
  return {
    id,
    ...defined({
      name: textIn(given, "name"),
      api: textIn(given, "api"),
      baseUrl: textIn(given, "baseUrl"),
      reasoning: typeof reasoning === "boolean" ? reasoning : undefined,
      input: inputIn(given),
      cost: costIn(given["cost"]),
      contextWindow: positiveIn(given, "contextWindow"),
      contextTokens: positiveIn(given, "contextTokens"),
      maxTokens: positiveIn(given, "maxTokens"),
      headers: textsByName(given["headers"]),
      compat: isFields(compat) ? { ...compat } : undefined,
    }),
  };
}

function positiveIn(given: Fields, key: string): number | undefined {
  const number = numberIn(given, key);
  return number !== undefined && number > 0 ? Math.floor(number) : undefined;
}

/** Kinds of input that this gateway sends to models. */
function inputIn({ input }: Fields): ModelSettings["input"] {
  if (!Array.isArray(input)) return undefined;
  return (["text", "image"] as const).filter((kind) => kind === "text" || input.includes(kind));
}

function costIn(given: unknown): ModelSettings["cost"] {
  if (!isFields(given)) return undefined;
  const price = (key: string) => Math.max(0, numberIn(given, key) ?? 0);
  return {
    input: price("input"),
    output: price("output"),
    cacheRead: price("cacheRead"),
    cacheWrite: price("cacheWrite"),
  };
}

function textsByName(given: unknown): Record<string, string> | undefined {
  if (!isFields(given)) return undefined;
  const texts = Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return texts.length === 0 ? undefined : Object.fromEntries(texts);
}
