import { z } from "zod";
import type { Answer } from "../method.ts";

/** Kinds of notifications, as clients name them. This gateway knows nobody who is mentioned, so `humanMentioned` never comes. */
const PUSH_CATEGORIES = [
  "approvalRequested",
  "agentFinished",
  "agentQuestion",
  "humanMentioned",
  "scheduledTaskFailed",
  "backgroundTaskFailed",
] as const;
export type PushCategory = (typeof PUSH_CATEGORIES)[number];

const DETAIL_LEVELS = ["private", "identified", "detailed"] as const;

const minute = z.int().min(0).max(1439);
const quietHours = z.object({
  enabled: z.boolean(),
  startMinute: minute,
  endMinute: minute,
  timeZone: z.string().min(1).max(128).refine(isZone, "is no time zone"),
});
const agentIds = z.array(z.string().trim().min(1).max(128)).max(128);

/** The wishes of a device. Whatever it leaves out is as the gateway's defaults say. */
export const pushDevice = z.object({
  enabled: z.boolean().default(true),
  /** The device's name for people. */
  label: z.string().trim().max(80).default(""),
  categories: z.partialRecord(z.enum(PUSH_CATEGORIES), z.boolean()).optional(),
  detailLevel: z.enum(DETAIL_LEVELS).optional(),
  quietHours: quietHours.optional(),
  agentIds: agentIds.optional(),
});
export type PushDevice = z.output<typeof pushDevice>;

const person = z.object({
  categories: z.record(z.enum(PUSH_CATEGORIES), z.boolean()),
  detailLevel: z.enum(DETAIL_LEVELS),
  quietHours,
  agentIds,
});
export type PushPerson = z.output<typeof person>;
const effective = person.extend({ enabled: z.boolean(), label: z.string() });
export type PushWishes = z.output<typeof effective>;

const sent = z.looseObject({
  ok: z.boolean(),
  subscriptionId: z.string(),
  statusCode: z.number().optional(),
  error: z.string().optional(),
});
/** The outcome of one notification. */
export type PushSent = Answer<z.output<typeof sent>>;

/** The answers of `push.web.*`. */
export const pushAnswers = {
  vapidPublicKey: z.looseObject({ vapidPublicKey: z.string() }),
  subscribe: z.looseObject({ subscriptionId: z.string() }),
  unsubscribe: z.looseObject({ removed: z.boolean() }),
  preferencesGet: z.looseObject({
    /** False: the gateway keeps wishes of devices, and none of people. */
    durableIdentity: z.boolean(),
    user: person,
    device: pushDevice,
    effective,
  }),
  preferencesSet: z.looseObject({ scope: z.string(), preferences: pushDevice }),
  test: z.looseObject({ results: z.array(sent) }),
};

function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
