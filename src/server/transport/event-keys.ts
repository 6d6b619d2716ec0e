import { z } from "zod";
import { keysOutward, type KeyNames } from "../../sessions/shown/wire-keys.ts";
import { shownApproval } from "../../types/answers/approvals.ts";
import { healthAnswer } from "../../types/gateway-status.ts";
import { keyField, namedKeyField } from "../../types/key-field.ts";
import type { GatewayEvent } from "../../types/method.ts";
import { sessionAnswers } from "../../types/session.ts";

const keyed = { sessionKey: keyField().optional() };
const job = z.looseObject({
  sessionKey: namedKeyField("alias").optional(),
  sessionTarget: namedKeyField("place").optional(),
});
const EVENTS: Readonly<Record<string, z.ZodType>> = {
  cron: z.looseObject({ ...keyed, job: job.optional() }),
  health: healthAnswer,
  "exec.approval.requested": shownApproval,
  "plugin.approval.requested": shownApproval,
  "session.message": z.looseObject({ ...keyed, session: sessionAnswers.history.shape.sessionInfo }),
};
const OTHER_EVENT = z.looseObject(keyed);

/** An event with the keys that clients see. */
export const eventOutward = (event: GatewayEvent, keys: KeyNames): GatewayEvent => ({
  ...event,
  payload: keysOutward(EVENTS[event.event] ?? OTHER_EVENT, event.payload, keys),
});
