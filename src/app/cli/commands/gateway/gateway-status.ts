import { randomUUID } from "node:crypto";
import { changeInstance, readInstance } from "../../../../store/lock/instance.ts";
import { runningOriginal, type RunningOriginal } from "../../../../store/lock/lock.ts";
import { resolvePaths } from "../../../config/paths.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { pairs } from "../../table.ts";
import { showDuration } from "../../../../utils/time/duration.ts";
import { gatewayJson, readGatewayState, type GatewayState } from "./gateway-state.ts";

/** Whether the gateway runs. Exit code 0 when it answers, else 1. */
export async function gatewayStatus(io: Io, options: { json?: boolean }): Promise<number> {
  const state = await readState(io);
  const { stateDir } = state.paths;
  const look = await readGatewayState(io, state);
  const { status, problem } = look;
  const { serviceOf } = await import("./gateway-service.ts");
  const own = await serviceOf(io);
  const service = own && { name: own.manager.name, manager: own.manager.kind, ...own.state };
  if (options.json === true)
    writeJson(io, { ...gatewayJson(look), stateDir, ...(service && { service }), ...(status && { status }) });
  else {
    const row = service && `${service.name}: ${service.detail}${service.enabled ? "" : ", does not start by itself"}`;
    io.out(pairs(io, [...rowsOf(look), ["Service", row], ["State", stateDir]]));
    if (problem) io.err(`${problem.message}\nfix: ${problem.fix}\n`);
  }
  return status === undefined ? 1 : 0;
}

function rowsOf({ url, pid, status }: GatewayState): [string, string | undefined][] {
  const silence = pid === undefined ? "not running" : "running, but gives no answer";
  return [
    ["Gateway", status ? "running" : silence],
    ["URL", url],
    ["Process", pid === undefined ? undefined : String(pid)],
    ["Version", status?.version],
    ["Up for", status?.uptimeMs === undefined ? undefined : showDuration(status.uptimeMs)],
  ];
}

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
