import { randomUUID } from "node:crypto";
import { changeInstance, readInstance } from "../../../../store/lock/instance.ts";
import { runningOriginal, type RunningOriginal } from "../../../../store/lock/lock.ts";
import { resolvePaths } from "../../../config/paths.ts";
import { writeJson, type Io } from "../../io.ts";
import { pairs } from "../../table.ts";

/** Shows the id of the state directory, and the running gateway of its original; `renew` first gives it another id. */
export async function gatewayInstance(io: Io, options: { renew?: boolean; json?: boolean }): Promise<number> {
  const { stateDir } = resolvePaths(io.env);
  const changed = options.renew === true ? await changeInstance(stateDir, { id: randomUUID() }) : undefined;
  const instance = changed ?? (await readInstance(stateDir));
  const original = await runningOriginal(stateDir);
  if (options.json === true) {
    const id = instance?.id ?? null;
    writeJson(io, { id, stateDir, adopted: instance?.isAdopted === true, original: original ?? null });
    return 0;
  }
  const rows = [
    ["Instance", instance?.id ?? "none yet: the first start makes one"],
    ["State", stateDir],
    ["Adopted", instance?.isAdopted === true ? "yes" : undefined],
    ["Copy of", original && originalText(original)],
  ] as const;
  io.out(pairs(io, rows));
  return 0;
}

const originalText = ({ dir, pid, port }: RunningOriginal): string =>
  `${dir}, whose gateway runs (pid ${pid}${port === undefined ? "" : ` on port ${port}`})`;
