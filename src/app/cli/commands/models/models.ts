import type { z } from "zod";
import type { Answer } from "../../../../types/method.ts";
import { modelsAnswer } from "../../../../types/gateway-status.ts";
import type { ModelInfo } from "../../../../types/run/model.ts";
import { modelName } from "../../../../types/run/model.ts";
import { hasGateway } from "../../address.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { withProgress } from "../../progress.ts";
import { readState, type State } from "../../state.ts";
import { table } from "../../table.ts";
import { own } from "../../../../utils/own.ts";

type Model = Answer<z.output<typeof modelsAnswer>>["models"][number];

export interface ModelListFlags {
  readonly json?: boolean;
  readonly plain?: boolean;
  /** Whether to include models without a key. */
  readonly all?: boolean;
  /** Whether to list only models on this machine. */
  readonly local?: boolean;
  readonly provider?: string;
}

/** The available models: the gateway's answer, or those that this process finds when none runs. */
export async function modelsList(io: Io, flags: ModelListFlags): Promise<number> {
  const state = await readState(io);
  const isAsked = flags.all !== true && hasGateway(io, state);
  const all = isAsked ? await askGateway(io, state) : await look(io, flags.all === true);
  const isLocal = flags.local === true ? await localTest(state) : () => true;
  const models = all.filter(
    (model) => (flags.provider === undefined || model.provider === flags.provider) && isLocal(model),
  );
  if (flags.json === true) writeJson(io, { count: models.length, models });
  else if (flags.plain === true) io.out(models.map((model) => `${modelName(model)}\n`).join(""));
  else io.out(models.length === 0 ? "No model.\n" : tableOf(io, models, flags.all === true));
  return 0;
}

function tableOf(io: Io, models: readonly Model[], all: boolean): string {
  const rows = models.map((model) => [
    modelName(model),
    model.name,
    `${Math.round(model.contextWindow / 1000)}k`,
    model.reasoning ? "yes" : "",
    ...(all ? [model.available === false ? "" : "yes"] : []),
  ]);
  return table(io, ["MODEL", "NAME", "CONTEXT", "THINKS", ...(all ? ["KEY"] : [])], rows);
}

/** Whether a provider is on this machine, by its address; servers that are found automatically always are. */
async function localTest(state: State): Promise<(model: Pick<ModelInfo, "provider">) => boolean> {
  const { LOCAL_SERVERS } = await import("../../../../providers/local.ts");
  const { isOnThisMachine } = await import("../../../../providers/auth/profiles.ts");
  const { providers } = state.config.models;
  return ({ provider }) => {
    const baseUrl = own(providers, provider)?.baseUrl;
    if (baseUrl !== undefined) return isOnThisMachine(baseUrl);
    return provider === "demo" || LOCAL_SERVERS.some((server) => server.provider === provider);
  };
}

async function askGateway(io: Io, state: State): Promise<readonly Model[]> {
  return (await callOnce(io, state, { method: "models.list", shape: modelsAnswer })).models;
}

async function look(io: Io, all: boolean): Promise<readonly Model[]> {
  const { openModelState } = await import("./models-state.ts");
  const { models } = await openModelState(io);
  return withProgress(io, "Looking for models", models.list(all ? "all" : "usable"));
}
