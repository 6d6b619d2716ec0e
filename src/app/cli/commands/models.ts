import { z } from "zod";
import { applyEnv } from "../../config/env-vars.ts";
import { hasGateway } from "../address.ts";
import { callOnce } from "../call-gateway.ts";
import { writeJson, type Io } from "../io.ts";
import { withProgress } from "../progress.ts";
import { readState, requireState, type State } from "../state.ts";
import { table } from "../table.ts";

const modelShape = z.looseObject({
  id: z.string(),
  provider: z.string(),
  name: z.string(),
  contextWindow: z.number(),
  reasoning: z.boolean(),
  available: z.boolean().optional(),
});
const modelsShape = z.looseObject({ models: z.array(modelShape) });
type Model = z.infer<typeof modelShape>;

/** The models that can be used: the gateway's answer, or this process's own look when none runs. */
export async function modelsList(io: Io, flags: { json?: boolean; provider?: string }): Promise<number> {
  const state = await readState(io);
  const all = hasGateway(io, state) ? await askGateway(io, state) : await look(io);
  const models = all.filter((model) => flags.provider === undefined || model.provider === flags.provider);
  if (flags.json === true) {
    writeJson(io, { count: models.length, models });
    return 0;
  }
  const rows = models.map((model) => [
    `${model.provider}/${model.id}`,
    model.name,
    `${Math.round(model.contextWindow / 1000)}k`,
    model.reasoning ? "yes" : "",
  ]);
  io.out(rows.length === 0 ? "No model.\n" : table(io, ["MODEL", "NAME", "CONTEXT", "THINKS"], rows));
  return 0;
}

async function askGateway(io: Io, state: State): Promise<readonly Model[]> {
  return (await callOnce(io, state, { method: "models.list", shape: modelsShape })).models;
}

async function look(io: Io): Promise<readonly Model[]> {
  const { config } = await requireState(io);
  const env = { ...io.env };
  applyEnv(config, env);
  const { createModels } = await import("../../../providers/catalog.ts");
  const models = createModels({ ...config.models, env });
  return (await withProgress(io, "Looking for models", models.list())).map((model) => ({ ...model }));
}
