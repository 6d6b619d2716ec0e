import type { Hooks } from "../../plugins/hooks.ts";
import type { HookContext } from "../../types/hook/hooks.ts";
import type { ConversationFacts, SessionWatcher } from "../../types/session.ts";
import type { Live } from "./live.ts";

/** Calls the hooks of plugins when conversations begin and end, with the field's payloads. */
export function sessionHooks(hooks: Hooks, live: Live): SessionWatcher {
  const contextOf = ({ key, agentId, sessionId }: ConversationFacts): HookContext => {
    const agent = live.agents.find(({ id }) => id === agentId) ?? live.defaultAgent;
    return { agentId, sessionKey: key, sessionId, workspaceDir: agent.workspace };
  };
  return {
    get wantsMessages() {
      return hooks.has("before_reset") || hooks.has("session_end");
    },
    async beforeReset({ file, reason, messages, ...facts }) {
      const event = { sessionFile: file, messages, reason };
      await hooks.ask("before_reset", event, contextOf({ ...facts, file }));
    },
    ended({ key, sessionId, file, reason, messageCount, nextSessionId, ...facts }) {
      const event = {
        sessionId,
        sessionKey: key,
        reason,
        messageCount,
        sessionFile: file,
        transcriptArchived: true,
        ...(nextSessionId !== undefined && { nextSessionId, nextSessionKey: key }),
      };
      hooks.notify("session_end", event, contextOf({ key, sessionId, file, ...facts }));
    },
    started: (facts) =>
      hooks.notify("session_start", { sessionId: facts.sessionId, sessionKey: facts.key }, contextOf(facts)),
  };
}
