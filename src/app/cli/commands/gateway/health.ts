import { z } from "zod";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { pairs } from "../../table.ts";
import { cleanText } from "../../terminal-text.ts";

const healthShape = z.looseObject({
  ok: z.boolean(),
  problems: z.array(z.string()).optional(),
  durationMs: z.number().optional(),
  channelOrder: z.array(z.string()).optional(),
  sessions: z.looseObject({ count: z.number() }).optional(),
  contextEngine: z
    .looseObject({
      id: z.string(),
      passedBy: z.object({ runs: z.number(), of: z.number(), why: z.string() }).optional(),
    })
    .optional(),
  plugins: z
    .looseObject({
      loaded: z.array(z.string()),
      errors: z.array(z.looseObject({ id: z.string(), why: z.string().optional() })),
    })
    .optional(),
  eventLoop: z.looseObject({ degraded: z.boolean(), utilization: z.number().optional() }).optional(),
});

/** Asks the gateway for its health. Returns 0 when it is healthy, else 1. Throws GATEWAY_UNREACHABLE. */
export async function health(io: Io, options: { json?: boolean; timeout?: number }): Promise<number> {
  const state = await readState(io);
  const answer = await callOnce(io, state, { method: "health", shape: healthShape }, { timeoutMs: options.timeout });
  if (options.json === true) writeJson(io, answer);
  else io.out(pairs(io, rowsOf(answer)));
  return answer.ok ? 0 : 1;
}

function rowsOf(answer: z.infer<typeof healthShape>): [string, string | undefined][] {
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

function loadText(eventLoop: z.infer<typeof healthShape>["eventLoop"]): string | undefined {
  const load = eventLoop?.utilization;
  return load === undefined ? undefined : `${Math.round(load * 100)} %${eventLoop?.degraded ? ", too much" : ""}`;
}

function engineText(engine: z.infer<typeof healthShape>["contextEngine"]): string | undefined {
  if (!engine?.passedBy) return undefined;
  const { runs, of, why } = engine.passedBy;
  return `skipped in ${runs} of its last ${of} runs. ${why}`;
}

/** Undefined without plugins. */
function pluginsText(plugins: z.infer<typeof healthShape>["plugins"]): string | undefined {
  if (!plugins || plugins.loaded.length + plugins.errors.length === 0) return undefined;
  const left = plugins.errors.map(({ id, why = "for an unknown reason" }) => `${id} is left out: ${why}`);
  return cleanText([`${plugins.loaded.length} loaded`, ...left].join("; "));
}
