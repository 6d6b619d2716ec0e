import { z } from "zod";

const keyStatus = z.enum(["ok", "static", "expiring", "expired", "missing"]);
export type KeyStatus = z.output<typeof keyStatus>;

/** Epoch milliseconds. */
const expiry = z.looseObject({ at: z.number(), remainingMs: z.number() }).optional();

const profile = z.looseObject({
  profileId: z.string(),
  type: z.string(),
  status: keyStatus,
  expiry,
  /** `agent`: stored, and used by this agent alone. `none`: the server needs no key. */
  source: z.enum(["stored", "agent", "config", "env", "plugin", "none"]).optional(),
  /** Whose login it is. */
  owner: z.string().optional(),
  /** Why the key is not asked, or soon will not be. */
  note: z.string().optional(),
  /** The models at which it failed and is not asked until then (epoch milliseconds); `because` is the kind of failure. */
  cooldowns: z.array(z.looseObject({ model: z.string(), until: z.number(), because: z.string() })).optional(),
});

const probeStatus = z.enum(["ok", "auth", "rate_limit", "billing", "timeout", "format", "unknown", "no_model"]);
export type ProbeStatus = z.output<typeof probeStatus>;
const probed = { status: probeStatus, latencyMs: z.number().optional(), error: z.string().optional() };

/** The answers about the keys of models. */
export const keyAnswers = {
  status: z.looseObject({
    ts: z.number(),
    /** The providers that the agent can use, each with its keys in their order, and after them those that are not asked. */
    providers: z.array(
      z.looseObject({
        provider: z.string(),
        authProvider: z.string(),
        displayName: z.string(),
        status: keyStatus,
        expiry,
        profiles: z.array(profile),
      }),
    ),
    /** Files of keys that cannot be read, each with what to do. */
    problems: z.array(z.string()).optional(),
  }),
  probe: z.looseObject({
    provider: z.string(),
    ...probed,
    results: z.array(z.looseObject({ profileId: z.string().optional(), label: z.string(), ...probed })),
  }),
  logout: z.looseObject({
    provider: z.string(),
    removedProfiles: z.array(z.string()),
    abortedRunIds: z.array(z.string()),
  }),
};
