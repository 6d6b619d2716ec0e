import { OpenClawError } from "../../../../types/errors.ts";
import type { Io } from "../../io.ts";
import { adopt } from "./adopt.ts";
import { isOn, type Flags } from "./flags.ts";

/** `openclaw onboard`: by flags. Throws USAGE without --non-interactive. */
export async function onboard(io: Io, flags: Flags): Promise<number> {
  if (isOn(flags, "adopt")) return adopt(io);
  if (isOn(flags, "non-interactive")) {
    const { onboardByFlags } = await import("./non-interactive.ts");
    return onboardByFlags(io, flags);
  }
  throw new OpenClawError("USAGE", {
    message: "The set-up asks nothing yet.",
    fix: "Give all answers as flags: openclaw onboard --non-interactive --accept-risk",
  });
}
