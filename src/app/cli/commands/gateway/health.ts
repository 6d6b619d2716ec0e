import { type GatewayHealth, healthAnswer } from "../../../../types/gateway-status.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { pairs } from "../../table.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";

/** Asks the gateway for its health. Returns 0 when it is healthy, else 1. Throws GATEWAY_UNREACHABLE. */
export async function health(io: Io, options: { json?: boolean; timeout?: number }): Promise<number> {
  const state = await readState(io);
  const answer = await callOnce(io, state, { method: "health", shape: healthAnswer }, { timeoutMs: options.timeout });
  if (options.json === true) writeJson(io, answer);
  else io.out(pairs(io, rowsOf(answer)));
  return answer.ok ? 0 : 1;
}

function rowsOf(answer: GatewayHealth): [string, string | undefined][] {
  const { eventLoop, channelOrder, sessions, durationMs, contextEngine, plugins, problems = [] } = answer;
  return [
    ["Health", answer.ok ? "ok" : "not ready"],
    ["Problems", problems.join("; ") || undefined],
    ["Load", loadText(eventLoop)],
    ["Channels", channelOrder && (channelOrder.join(", ") || "none")],
    ["Context engine", engineText(contextEngine)],
    ["Plugins", pluginsText(plugins)],
    ["Sessions", sessions && String(sessions.count)],
    ["Took", durationMs === undefined ? undefined : `${durationMs} ms`],
  ];
}

function loadText(eventLoop: GatewayHealth["eventLoop"]): string | undefined {
  const load = eventLoop?.utilization;
  return load === undefined ? undefined : `${Math.round(load * 100)} %${eventLoop?.degraded ? ", too much" : ""}`;
}

function engineText(engine: GatewayHealth["contextEngine"]): string | undefined {
  if (!engine?.passedBy) return undefined;
  const { runs, of, why } = engine.passedBy;
  return `skipped in ${runs} of its last ${of} runs. ${why}`;
}

/** Undefined without plugins. */
function pluginsText(plugins: GatewayHealth["plugins"]): string | undefined {
  if (!plugins || plugins.loaded.length + plugins.errors.length === 0) return undefined;
  const left = plugins.errors.map(({ id, why = "for an unknown reason" }) => `${id} is left out: ${why}`);
  return withoutTerminalControls([`${plugins.loaded.length} loaded`, ...left].join("; "));
}
