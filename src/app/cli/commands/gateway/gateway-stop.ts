import { OpenClawError } from "../../../../types/errors.ts";
import { resolvePaths } from "../../../config/paths.ts";
import { stopDaemon } from "../../../gateway/lifecycle/stop.ts";
import type { Io } from "../../io.ts";
import { withProgress } from "../../progress.ts";

/** Ends the gateway of this state directory, and waits for its end. Returns 0 also when none runs. */
export async function gatewayStop(io: Io): Promise<number> {
  const { stateDir } = resolvePaths(io.env);
  const pid = await withProgress(io, "Waiting for runs to finish", stopOwn(stateDir));
  io.out(pid === undefined ? `No gateway runs on ${stateDir}.\n` : `Stopped the gateway (pid ${pid}).\n`);
  return 0;
}

async function stopOwn(stateDir: string): Promise<number | undefined> {
  try {
    return await stopDaemon(stateDir);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) throw error;
    throw new OpenClawError("STATE_PERMISSIONS", {
      message: `The gateway of ${stateDir} belongs to another user.`,
      fix: "Run this as the user who started it.",
      cause: error,
    });
  }
}
