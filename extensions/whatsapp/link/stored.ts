import { z } from "zod";

const bytes = z.instanceof(Uint8Array);
const keyPair = z.looseObject({ public: bytes, private: bytes });

/** What of a row is used without a further look, by type; of another type it is something. */
const SHAPES: Readonly<Record<string, z.ZodType>> = {
  creds: z.looseObject({
    noiseKey: keyPair,
    signedIdentityKey: keyPair,
    signedPreKey: z.looseObject({ keyPair, signature: bytes, keyId: z.number() }),
    registrationId: z.number(),
    advSecretKey: z.string(),
  }),
  "pre-key": keyPair,
  // The library writes some as records of its own.
  session: z.union([bytes, z.looseObject({})]),
  "sender-key": z.union([bytes, z.looseObject({})]),
  "identity-key": bytes,
  "sender-key-memory": z.record(z.string(), z.boolean()),
  "app-state-sync-version": z.looseObject({ version: z.number(), hash: bytes }),
  "lid-mapping": z.string(),
  "device-list": z.array(z.string()),
};

/** Whether a value is what the library writes under a type (its `SignalDataTypeMap`). */
export const isStored = <T>(type: string, value: unknown): value is T =>
  value !== null && value !== undefined && (SHAPES[type]?.safeParse(value).success ?? true);
