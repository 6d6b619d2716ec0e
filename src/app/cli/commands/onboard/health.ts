import { setTimeout as sleep } from "node:timers/promises";
import { type GatewayHealth, healthAnswer } from "../../../../types/gateway-status.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { hasGateway } from "../../address.ts";
import { callOnce } from "../../call-gateway.ts";
import type { Io } from "../../io.ts";
import { withProgress } from "../../progress.ts";
import { readState } from "../../state.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";

/** Milliseconds for a gateway that runs, or is being started, until it is healthy. */
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 250;
/** Milliseconds in which a gateway that a script has just started takes its state directory. */
const START_MS = 3000;

/** `none`: no gateway runs on the state directory. */
export type Health =
  | { readonly kind: "none" }
  | { readonly kind: "ok" }
  | { readonly kind: "ill"; readonly why: string };

/** Waits until the gateway of this state directory says that it is well. Never rejects for a gateway that is not. */
export const awaitHealth = (io: Io, startMs = START_MS): Promise<Health> =>
  withProgress(io, "Waiting until the gateway is well", lookAtHealth(io, startMs));

async function lookAtHealth(io: Io, startMs: number): Promise<Health> {
  const begun = Date.now();
  for (;;) {
    const state = await readState(io);
    const waited = Date.now() - begun;
    if (!hasGateway(io, state)) {
      if (waited >= startMs) return { kind: "none" };
    } else {
      const why = await illness(io, state);
      if (why === undefined) return { kind: "ok" };
      if (waited >= PATIENCE_MS) return { kind: "ill", why };
    }
    await sleep(LOOK_EVERY_MS);
  }
}

async function illness(io: Io, state: Awaited<ReturnType<typeof readState>>): Promise<string | undefined> {
  try {
    const answer = await callOnce(io, state, { method: "health", shape: healthAnswer }, { isQuiet: true });
    return answer.ok ? undefined : problemsOf(answer);
  } catch (error) {
    if (error instanceof OpenClawError) return error.message;
    throw error;
  }
}

const problemsOf = ({ problems = [] }: GatewayHealth): string =>
  withoutTerminalControls(problems.length > 0 ? problems.join("; ") : "it is not ready");

/** What a set-up that awaits health throws when there is none. */
export function unhealthy(health: Exclude<Health, { kind: "ok" }>): OpenClawError {
  if (health.kind === "none")
    return new OpenClawError("GATEWAY_UNREACHABLE", {
      message: "Everything is written, but no gateway runs on this state directory.",
      fix: "Start it (openclaw gateway run), install it (--install-daemon), or do not wait for it (--skip-health).",
    });
  return new OpenClawError("GATEWAY_UNREACHABLE", {
    message: `Everything is written, but the gateway is not well: ${health.why}`,
    fix: "See openclaw doctor and openclaw logs.",
  });
}
