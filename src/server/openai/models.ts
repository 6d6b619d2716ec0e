import { agentId, type AgentId } from "../../types/ids.ts";
import type { Catalog } from "../options.ts";
import type { ApiError } from "./errors.ts";

/** The model that answers titles, tags and the like: the agent's small model alone, without the agent. */
const UTILITY_MODEL = "openclaw/utility";

/** The agent that the id of a model names. */
export interface NamedModel {
  readonly agent: AgentId;
  readonly isUtility: boolean;
}

/** `openclaw`, `openclaw/<agent>`, `openclaw:<agent>` and `agent:<agent>`. */
const NAMES = /^(?:openclaw(?:[/:](.+))?|agent:(.+))$/;

/** The agent that a model's id names; a header names it before the id does. */
export function namedModel(model: string, header: string | undefined, catalog: Catalog): NamedModel | ApiError {
  const found = NAMES.exec(model);
  if (!found) return unknownModel(model);
  const isUtility = model === UTILITY_MODEL && !isAgent("utility", catalog);
  const named = isUtility ? undefined : (found[1] ?? found[2]);
  const asked = header ?? (named === "default" && !isAgent(named, catalog) ? undefined : named);
  if (asked === undefined) return { agent: catalog.defaultAgent, isUtility };
  return isAgent(asked, catalog) ? { agent: agentId(asked), isUtility } : unknownModel(header ?? model);
}

/** The error for the key of a session whose agent does not exist; undefined when there is one. */
export const missingAgent = (agent: AgentId, param: string, catalog: Catalog): ApiError | undefined =>
  isAgent(agent, catalog)
    ? undefined
    : {
        ...unknownModel(`openclaw/${agent}`),
        message: `There is no agent ${agent}; GET /v1/models lists them.`,
        param,
      };

const isAgent = (name: string, { agents }: Catalog): boolean => agents().some(({ id }) => id === agentId(name));

const unknownModel = (model: string): ApiError => ({
  status: 404,
  message: `There is no model ${model}; use openclaw or openclaw/<agentId> (GET /v1/models lists them).`,
  type: "invalid_request_error",
  code: "model_not_found",
  param: "model",
});

/** `GET /v1/models` */
export function listModels({ agents }: Catalog) {
  const ids = ["openclaw", ...agents().map(({ id }) => `openclaw/${id}`)];
  return { object: "list", data: ids.map(shownModel) };
}

/** `GET /v1/models/{id}` */
export function getModel(id: string, catalog: Catalog) {
  const named = namedModel(id, undefined, catalog);
  return "status" in named ? named : shownModel(id);
}

const shownModel = (id: string) => ({ id, object: "model", created: 0, owned_by: "openclaw" });
