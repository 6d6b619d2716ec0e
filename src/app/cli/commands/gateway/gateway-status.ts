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
