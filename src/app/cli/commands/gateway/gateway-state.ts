import { OpenClawError } from "../../../../types/errors.ts";
import { type GatewayStatus, statusAnswer } from "../../../../types/gateway-status.ts";
import { findGateway } from "../../address.ts";
import { withGateway } from "../../call-gateway.ts";
import type { Io } from "../../io.ts";
import type { State } from "../../state.ts";

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
    const ask = withGateway(io, state, (client) => client.call("status", {}, statusAnswer, timeoutMs), { timeoutMs });
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
