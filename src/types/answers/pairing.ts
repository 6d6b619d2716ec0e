import { z } from "zod";
import type { Answer } from "../method.ts";

/** Somebody who wrote without being known. */
const stranger = z.looseObject({
  channel: z.string(),
  account: z.string(),
  senderId: z.string(),
  name: z.string().exactOptional(),
});
/** Times are epoch milliseconds. `code`: 8 characters out of A–Z and 2–9 without O and I. */
const pairingRequest = stranger.extend({ code: z.string(), createdAt: z.number(), expiresAt: z.number() });
export type PairingRequest = Answer<z.output<typeof pairingRequest>>;

/** Who was let in. `code` where there was one. */
const paired = pairingRequest.partial({ code: true, createdAt: true, expiresAt: true });
export type Paired = Answer<z.output<typeof paired>>;

/** A stranger who has no code, for three others were waiting, or who lost it to a newer one. Times are epoch milliseconds. */
const turnedAway = stranger.extend({ firstAt: z.number().optional(), lastAt: z.number() });
export type TurnedAway = Answer<z.output<typeof turnedAway>>;

/** Somebody who was let in. `at`: when, in epoch milliseconds. */
const admitted = stranger.extend({ at: z.number() });
export type Admitted = Answer<z.output<typeof admitted>>;

/** Whether a stranger was informed. `queued`: the message is sent once the account is connected. */
const notified = z.looseObject({ state: z.enum(["sent", "queued", "failed"]), reason: z.string().optional() });
export type Notified = Answer<z.output<typeof notified>>;

/** The answers of `pairing.*`. A gateway of an older version has neither `turnedAway` nor `admitted`. */
export const pairingAnswers = {
  list: z.looseObject({
    requests: z.array(pairingRequest),
    turnedAway: z.array(turnedAway).default([]),
    admitted: z.array(admitted).default([]),
  }),
  reject: z.looseObject({ ok: z.boolean().optional(), request: paired }),
  revoke: z.looseObject({ ok: z.boolean().optional(), revoked: z.array(admitted) }),
  approve: z.looseObject({ ok: z.boolean().optional(), request: paired, notified: notified.optional() }),
};
