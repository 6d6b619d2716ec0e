import { OpenClawError } from "../../../../types/errors.ts";
import type { Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { serviceInstall, serviceOf } from "../gateway/gateway-service.ts";
import type { Companion } from "./companion.ts";
import { openScene, type SetupScene } from "./scene.ts";
import type { TerminalQuestions } from "./talk.ts";

/** What runs the gateway after the set-up. `running`: it runs already, by somebody else. */
export type RunsBy = "service" | "terminal" | "running" | "nobody";

/** Asks what runs the gateway, and installs the service. */
export async function serviceStep(talk: TerminalQuestions, { io }: SetupScene, companion: Companion): Promise<RunsBy> {
  const installed = await serviceOf(io);
  if (installed?.state.running) {
    talk.done("The service runs.");
    return "service";
  }
  const { owner } = await readState(io);
  if (owner !== undefined && !companion.isRunning) {
    talk.done(`A gateway runs already (pid ${owner.pid}).`);
    return "running";
  }
  const by = await talk.choose<RunsBy>("What runs the gateway from now on?", [
    { value: "service", label: "A service of this machine", hint: "starts with it, and after a crash" },
    { value: "terminal", label: "This terminal, once the set-up has ended", hint: "until Ctrl-C" },
    { value: "nobody", label: "Nothing yet", hint: "openclaw gateway run" },
  ]);
  if (by !== "service") return by;
  // Two gateways cannot have one state directory.
  await companion.stop();
  try {
    await serviceInstall(quiet(io), {});
    talk.done("The service is installed and runs.");
    return "service";
  } catch (error) {
    if (!(error instanceof OpenClawError)) throw error;
    talk.failed(error);
    return serviceStep(talk, await openScene(io), companion);
  }
}

/** A terminal that a command's report does not reach: the set-up tells it in its own words. */
export const quiet = (io: Io): Io => ({ ...io, out: () => undefined });
