import { z } from "zod";
import { keyVariableOf, modelOf, whyUnusable } from "../../../providers/speech/services.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { own } from "../../../utils/own.ts";
import type { Parts } from "../parts/parts.ts";
import { writeByClient } from "./write-by-client.ts";

const nothing = z.looseObject({});

const status = z.looseObject({
  enabled: z.boolean(),
  auto: z.string(),
  provider: z.string(),
  /** Null and empty: the gateway has no personas. */
  persona: z.null(),
  personas: z.array(z.unknown()),
  fallbackProvider: z.string().nullable(),
  fallbackProviders: z.array(z.string()),
  providerStates: z.array(z.looseObject({ id: z.string(), label: z.string(), configured: z.boolean() })),
});

const service = z.looseObject({
  id: z.string(),
  name: z.string(),
  configured: z.boolean(),
  models: z.array(z.string()),
  voices: z.array(z.string()),
});

/** Answers are spoken by one voice: only none can be chosen. */
const SET_PERSONA = defineMethod({
  name: "tts.setPersona",
  scope: "operator.admin",
  params: z.looseObject({ persona: z.string().nullable() }),
  result: z.looseObject({ persona: z.null() }),
  run: async ({ persona }) => {
    if (persona === null || ["", "off", "none", "default"].includes(persona.trim())) return { persona: null };
    throw new MethodError("NOT_FOUND", `there is no persona "${persona}": answers are spoken by one voice`);
  },
});

/** The methods that show the speech of answers, and switch it. */
export const speechMethods = (parts: Pick<Parts, "live">): readonly Method[] => [
  defineMethod({
    name: "tts.status",
    scope: "operator.read",
    params: nothing,
    result: status,
    run: async () => {
      const { enabled, auto } = parts.live.config.messages.tts;
      const services = servicesOf(parts);
      const active = activeIn(services, parts);
      const others = services.filter(({ id, configured }) => configured && id !== active).map(({ id }) => id);
      return {
        enabled: enabled && auto !== "off",
        auto: enabled ? auto : "off",
        provider: active,
        persona: null,
        personas: [],
        fallbackProvider: others[0] ?? null,
        fallbackProviders: others,
        providerStates: services.map(({ id, configured }) => ({ id, label: id, configured })),
      };
    },
  }),
  defineMethod({
    name: "tts.providers",
    scope: "operator.read",
    params: nothing,
    result: z.looseObject({ providers: z.array(service), active: z.string() }),
    run: async () => {
      const services = servicesOf(parts);
      const providers = services.map(({ id, configured, models, voices }) => ({
        id,
        name: id,
        configured,
        models,
        voices,
      }));
      return { providers, active: activeIn(services, parts) };
    },
  }),
  SET_PERSONA,
  switchMethod("tts.enable", true, parts),
  switchMethod("tts.disable", false, parts),
  defineMethod({
    name: "tts.setProvider",
    scope: "operator.admin",
    params: z.looseObject({ provider: z.string().min(1).max(200) }),
    result: z.looseObject({ provider: z.string() }),
    run: async ({ provider }) => {
      if (!servicesOf(parts).some(({ id }) => id === provider))
        throw new MethodError("INVALID_REQUEST", `messages.tts.providers has no "${provider}"`);
      await writeByClient([{ path: ["messages", "tts", "provider"], value: provider }], parts);
      return { provider };
    },
  }),
];

/** Enabling makes answers be spoken: all of them, unless the config says which. */
const switchMethod = (name: string, enabled: boolean, parts: Pick<Parts, "live">): Method =>
  defineMethod({
    name,
    scope: "operator.admin",
    params: nothing,
    result: z.looseObject({ enabled: z.boolean() }),
    run: async () => {
      const isSilent = parts.live.config.messages.tts.auto === "off";
      const base = ["messages", "tts"];
      const always = enabled && isSilent ? [{ path: [...base, "auto"], value: "always" }] : [];
      await writeByClient([{ path: [...base, "enabled"], value: enabled }, ...always], parts);
      return { enabled };
    },
  });

/** The services of the config, in their order. */
function servicesOf({ live }: Pick<Parts, "live">) {
  const { messages, models } = live.config;
  return Object.entries(messages.tts.providers).map(([id, given]) => {
    const variable = keyVariableOf(id);
    const inEnv = variable === undefined ? undefined : process.env[variable];
    const key = given.apiKey ?? own(models.providers, id)?.apiKey ?? inEnv;
    return {
      id,
      configured: whyUnusable(id, given, key === undefined ? undefined : "given") === undefined,
      models: given.command ? [] : [modelOf(id, given).model],
      voices: given.voice === undefined ? [] : [given.voice],
    };
  });
}

const activeIn = (services: readonly { readonly id: string }[], { live }: Pick<Parts, "live">): string =>
  live.config.messages.tts.provider ?? services[0]?.id ?? "";
