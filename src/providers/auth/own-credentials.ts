import type { AgentSettings } from "../../types/settings.ts";
import { Credentials } from "./credentials.ts";

/** The keys that only one agent uses, by its id: `auth-profiles.json` of its `agentDir`, which need not be there. */
export const ownCredentialsOf =
  (agents: readonly Pick<AgentSettings, "id" | "agentDir">[]) =>
  (agent: string): Credentials | undefined => {
    const dir = agents.find(({ id }) => id === agent)?.agentDir;
    return dir === undefined ? undefined : new Credentials(dir);
  };
