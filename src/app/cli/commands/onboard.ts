import { changeInstance } from "../../../store/lock/instance.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { resolvePaths } from "../../config/paths.ts";
import type { Io } from "../io.ts";

/**
 * `--adopt`: this gateway may start channels on a state directory that another program wrote last. The config stays as it is, because the
 * other program refuses keys that it does not know.
 */
export async function onboard(io: Io, options: { adopt?: boolean }): Promise<number> {
  if (options.adopt !== true) {
    throw new OpenClawError("USAGE", {
      message: "Nothing to do: the gateway needs no setup.",
      fix: "Start it with `openclaw gateway run`; `openclaw onboard --adopt` takes over another program's state.",
    });
  }
  const { stateDir } = resolvePaths(io.env);
  await changeInstance(stateDir, { isAdopted: true });
  io.out(`Adopted: ${stateDir}. The config is unchanged.\nChannels start with the next start of the gateway.\n`);
  return 0;
}
