import { z } from "zod";

const bytes = z.instanceof(Uint8Array);
const keyPair = z.looseObject({ public: bytes, private: bytes });

/** The parts of rows that are used without further checks, by type. Rows of other types only have to exist. */
const SHAPES: Readonly<Record<string, z.ZodType>> = {
  creds: z.looseObject({
    noiseKey: keyPair,
    signedIdentityKey: keyPair,
    signedPreKey: z.looseObject({ keyPair, signature: bytes, keyId: z.number() }),
    registrationId: z.number(),
    advSecretKey: z.string(),
  }),
  "pre-key": keyPair,
  // The library stores some of them as objects.
  session: z.union([bytes, z.looseObject({})]),
  "sender-key": z.union([bytes, z.looseObject({})]),
  "identity-key": bytes,
  "sender-key-memory": z.record(z.string(), z.boolean()),
  "app-state-sync-version": z.looseObject({ version: z.number(), hash: bytes }),
  "lid-mapping": z.string(),
  "device-list": z.array(z.string()),
};

/** Whether a value matches what the library stores for a type (its `SignalDataTypeMap`). */
export const isStored = <T>(type: string, value: unknown): value is T =>
  value !== null && value !== undefined && (SHAPES[type]?.safeParse(value).success ?? true);
