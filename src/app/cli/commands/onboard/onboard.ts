import { OpenClawError } from "../../../../types/errors.ts";
import { canAsk } from "../../ask.ts";
import type { Io } from "../../io.ts";
import { adopt } from "./adopt.ts";
import { checkTalkFlags, flagText, isOn, type Flags } from "./flags.ts";

/** `openclaw onboard`: by flags, or with questions at a terminal. Throws USAGE where there is nobody to ask. */
export async function onboard(io: Io, flags: Flags): Promise<number> {
  if (isOn(flags, "adopt")) return adopt(io);
  if (isOn(flags, "non-interactive")) {
    const { onboardByFlags } = await import("./non-interactive.ts");
    return onboardByFlags(io, flags);
  }
  checkTalkFlags(flags);
  if (!canAsk(io) || !io.isTerminal) throw nobodyToAsk();
  if (flagText(flags, "mode") === "remote") {
    const { onboardRemoteByTalk } = await import("./remote.ts");
    return onboardRemoteByTalk(io, flags);
  }
  const { onboardByTalk } = await import("./tour.ts");
  return onboardByTalk(io, flags);
}

const nobodyToAsk = (): OpenClawError =>
  new OpenClawError("USAGE", {
    message: "The set-up asks questions, and there is nobody to ask here.",
    fix: "Run it in a terminal, or give all answers as flags: openclaw onboard --non-interactive --accept-risk",
  });
