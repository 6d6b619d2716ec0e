import { z } from "zod";
import { openText } from "../method.ts";

const probed = openText<"ok" | "auth" | "rate_limit" | "billing" | "timeout" | "format" | "unavailable" | "unknown">();

/** The answers of the methods that connect a model. */
export const setupAnswers = {
  detect: z.looseObject({
    /** What can be used without typing a key. */
    candidates: z.array(
      z.looseObject({
        /** `existing-model`, `openai-api-key`, `anthropic-api-key`, or `provider-auto:` and the provider. */
        kind: z.string(),
        label: z.string(),
        detail: z.string(),
        /** `provider/model`. */
        modelRef: z.string(),
        recommended: z.boolean(),
        /** Further models of a server on the gateway's machine, each as `modelRef` is. */
        modelRefs: z.array(z.string()).optional(),
      }),
    ),
    /** Providers whose key a person can type. */
    manualProviders: z.array(
      z.looseObject({
        id: z.string(),
        label: z.string(),
        /** The page of the provider on which keys are made. */
        website: z.string().optional(),
        /** What the provider's keys begin with, where no other provider's do. */
        keyStarts: z.array(z.string()).optional(),
        provider: z.string().optional(),
        /** The model when the person names none, as `provider/model`. */
        modelRef: z.string().optional(),
      }),
    ),
    workspace: z.string(),
    /** The model of the default agent; unset when that is the demo. */
    configuredModel: z.string().optional(),
    setupComplete: z.boolean(),
  }),
  activate: z.looseObject({
    ok: z.boolean(),
    modelRef: z.string().optional(),
    latencyMs: z.number().optional(),
    lines: z.array(z.string()).optional(),
    /** Unset when the change is in force. */
    gatewayRestartRequired: z.literal(true).optional(),
    status: probed.optional(),
    /** A sentence for a person. */
    error: z.string().optional(),
    /** What the person can change. */
    mend: openText<"key" | "model" | "address" | "account" | "budget" | "nothing">().optional(),
    /** What the provider said. */
    said: z.string().optional(),
    /** Ids of models that the provider has. */
    models: z.array(z.string()).optional(),
  }),
  verify: z.looseObject({
    ok: z.boolean(),
    modelRef: z.string().optional(),
    latencyMs: z.number().optional(),
    status: probed.optional(),
    error: z.string().optional(),
  }),
};
