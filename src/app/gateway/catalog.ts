import type { Catalog } from "../../server/options.ts";
import type { Parts } from "./parts.ts";
import { rightsOf } from "./methods/session-rights.ts";
import { settingsInForce } from "./session-settings.ts";

/** The agents, models and settings of this gateway, as the server shows them. */
export const catalogOf = (parts: Parts): Catalog => ({
  agents: () => parts.live.agents.map(({ id, name }) => ({ id, ...(name !== undefined && { name }) })),
  defaultAgent: parts.live.defaultAgent.id,
  models: () => parts.core.models.list(),
  defaultModel: () => parts.model.info,
  settingsOf: (key) => settingsInForce(key, parts),
  rightsOf: (key) => rightsOf(key, parts),
});
