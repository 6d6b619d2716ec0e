import { z } from "zod";

const keyStatus = z.enum(["ok", "static", "expiring", "expired", "missing"]);
export type KeyStatus = z.output<typeof keyStatus>;

/** Epoch milliseconds. */
const expiry = z.looseObject({ at: z.number(), remainingMs: z.number() }).optional();

/** The answers about the keys of models. */
export const keyAnswers = {
  status: z.looseObject({
    ts: z.number(),
    /** The providers that the agent can use, each with its keys in their order. */
    providers: z.array(
      z.looseObject({
        provider: z.string(),
        authProvider: z.string(),
        displayName: z.string(),
        status: keyStatus,
        expiry,
        profiles: z.array(z.looseObject({ profileId: z.string(), type: z.string(), status: keyStatus, expiry })),
      }),
    ),
  }),
};
