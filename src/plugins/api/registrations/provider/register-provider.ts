import type { PluginScope } from "../../scope.ts";
import { type Fields, isFields } from "../../../../utils/fields.ts";
import { nameIn, objectOf, textIn, textsIn } from "../../foreign.ts";
import { CALLED, methodsOf } from "./methods.ts";
import { ProviderParts } from "./parts.ts";
import { readProvider } from "./settings.ts";

/**
 * `api.registerProvider({id, auth, catalog, …})`: a provider of models. Its functions that are never called are noted, and so
 * are the ways to log in that this gateway does not have.
 */
export function registerProvider(scope: PluginScope, given: unknown): void {
  const provider = objectOf(given, "registerProvider");
  const id = nameIn(provider, "id", "registerProvider");
  noteUnused(scope, provider);
  const keyVariables = [...new Set(textsIn(provider, "envVars"))];
  scope.registry.addModelProvider({
    id,
    aliases: textsIn(provider, "aliases") ?? [],
    keyVariables,
    // Older plugins bring their settings as data.
    settings: isFields(provider["models"]) ? readProvider(provider["models"], (key) => key) : {},
    methods: methodsOf(new ProviderParts(scope, id, provider), keyVariables),
  });
}

/** Keys can be stored and come from the environment; every other login needs code of the field's own set-up. */
const KEY_KINDS = new Set(["api_key", "token"]);

function noteUnused(scope: PluginScope, provider: Fields): void {
  for (const [name, value] of Object.entries(provider))
    if (typeof value === "function" && !CALLED.has(name)) scope.neverCalled.add(`registerProvider.${name}`);
  const methods = Array.isArray(provider["auth"]) ? provider["auth"].filter(isFields) : [];
  for (const method of methods) {
    const kind = textIn(method, "kind") ?? "custom";
    if (!KEY_KINDS.has(kind)) scope.notServed.add(`registerProvider.auth (${textIn(method, "id") ?? kind}: ${kind})`);
  }
}
