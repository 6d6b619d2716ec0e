import { z } from "zod";
import { OpenClawError } from "../../../../types/errors.ts";
import { findGateway } from "../../address.ts";
import { withGateway } from "../../call-gateway.ts";
import type { Io } from "../../io.ts";
import type { State } from "../../state.ts";

const account = z.looseObject({ channel: z.string(), accountId: z.string(), lifecycle: z.string() });
const problem = z.looseObject({ message: z.string(), fix: z.string() });

/** The parts of the `status` answer that are shown. Each part may be missing in another version. */
const statusShape = z.looseObject({
  version: z.string().optional(),
  uptimeMs: z.number().optional(),
  activeRuns: z.number().optional(),
  connections: z.number().optional(),
  sessions: z.looseObject({ count: z.number().optional() }).optional(),
  ready: z.looseObject({ ok: z.boolean(), problems: z.array(z.string()).optional() }).optional(),
  model: z
    .looseObject({ provider: z.string(), id: z.string(), problem: z.string().optional(), demo: z.boolean().optional() })
    .optional(),
  channels: z.array(account).optional(),
  plugins: z.looseObject({ loaded: z.number(), problems: z.array(z.string()) }).optional(),
  config: z.looseObject({ problems: z.array(problem).optional() }).optional(),
  journal: z
    .looseObject({
      openInbox: z.number(),
      unknownOutbox: z.number(),
      oldestInboxAt: z.number().optional(),
      staleLastDay: z.number().optional(),
      failedOutboxLastDay: z.number().optional(),
    })
    .optional(),
  stuck: z.array(z.looseObject({ session: z.string(), doing: z.string(), forMs: z.number() })).optional(),
  sandboxes: z.array(z.looseObject({ agent: z.string(), mode: z.string(), works: z.boolean().optional() })).optional(),
  failing: z.looseObject({ runs: z.number(), kind: z.string() }).optional(),
  strangers: z.looseObject({ waiting: z.number(), turnedAway: z.number() }).optional(),
  lastDay: z
    .looseObject({
      runs: z.number(),
      failed: z.number(),
      input: z.number(),
      output: z.number(),
      costUsd: z.number(),
      plugins: z
        .array(
          z.looseObject({
            plugin: z.string(),
            calls: z.number(),
            input: z.number(),
            output: z.number(),
            costUsd: z.number(),
          }),
        )
        .optional(),
    })
    .optional(),
});
export type GatewayStatus = z.infer<typeof statusShape>;

/** The gateway's state as the command sees it. */
export interface GatewayState {
  readonly url: string;
  /** The process that holds the state directory; unknown for a gateway on another machine. */
  readonly pid?: number;
  /** Its `status` answer. */
  readonly status?: GatewayStatus;
  /** Why it has no status. */
  readonly problem?: OpenClawError;
}

/** Asks the gateway for its status. One that does not answer is a result, not an error. */
export async function readGatewayState(io: Io, state: State, timeoutMs?: number): Promise<GatewayState> {
  const { url } = await findGateway(io, state);
  const base = { url, ...(state.owner && { pid: state.owner.pid }) };
  try {
    const ask = withGateway(io, state, (client) => client.call("status", {}, statusShape, timeoutMs), { timeoutMs });
    return { ...base, status: await ask };
  } catch (error) {
    if (error instanceof OpenClawError) return { ...base, problem: error };
    throw error;
  }
}

/** The same for scripts. */
export function gatewayJson({ url, pid, status, problem }: GatewayState): object {
  return {
    running: pid !== undefined || status !== undefined,
    reachable: status !== undefined,
    url,
    pid: pid ?? null,
    ...(problem && { error: { code: problem.code, message: problem.message, fix: problem.fix } }),
  };
}
