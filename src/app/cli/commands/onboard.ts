import { OpenClawError } from "../../../types/errors.ts";
import type { Io } from "../io.ts";
import { setInFile } from "./config/config.ts";

/** `--adopt`: this gateway may start channels on a state directory that another program wrote last. */
export async function onboard(io: Io, options: { adopt?: boolean }): Promise<number> {
  if (options.adopt !== true) {
    throw new OpenClawError("USAGE", {
      message: "Nothing to do: the gateway needs no setup.",
      fix: "Start it with `openclaw gateway run`; `openclaw onboard --adopt` takes over another program's state.",
    });
  }
  const path = await setInFile(io, ["gateway", "adopt"], true);
  io.out(`Adopted: gateway.adopt is true in ${path}.\nChannels start with the next start of the gateway.\n`);
  return 0;
}
