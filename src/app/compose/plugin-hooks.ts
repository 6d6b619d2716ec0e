import { Hooks } from "../../plugins/hooks.ts";
import { conversationLines } from "../../dispatch/commands/reports/conversation.ts";
import type { HookEvents } from "../../types/hook/events.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { HookContext } from "../../types/hook/hooks.ts";
import type { ConversationFacts, Sessions, SessionTable, SessionWatcher } from "../../types/session.ts";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import { openSessions } from "../../sessions/sessions.ts";
import type { PairingRequest } from "../../types/answers/pairing.ts";
import type { Live } from "../live.ts";

/** The hooks of everything that contributes to the gateway. */
export const openHooks = ({ contributions }: Live, clock: Clock, log: Log): Hooks =>
  new Hooks(contributions, clock, log);

/** Opens the sessions of the gateway, with the hooks of plugins at their beginning and end. */
export async function openLiveSessions(
  live: Live,
  { hooks, table, log }: { readonly hooks: Hooks; readonly table: SessionTable; readonly log: Log },
): Promise<Sessions> {
  const sessions: Sessions = await openSessions({
    watcher: sessionHooks(hooks, live, async (key) => ({
      lines: conversationLines((await sessions.history(key, MOST_SAID)).entries),
      heardGuests: sessions.peek(key)?.heardGuests === true,
    })),
    dir: live.paths.sessionsDir,
    table,
    cwdFor: (agent) => live.agents.find((settings) => settings.id === agent)?.workspace ?? live.paths.workspace,
    log,
    defaultAgent: live.defaultAgent.id,
  });
  return sessions;
}

export function notifyPairing({ channel, account, senderId }: PairingRequest, hooks: Hooks): void {
  hooks.notify("channel_pairing_requested", { channel, accountId: account, senderId }, { channelId: channel });
}

/** The lines of a conversation, and whether it contains messages of guests. */
interface Said {
  readonly lines: HookEvents["session:reset"]["conversation"];
  readonly heardGuests: boolean;
}

/** Stands for a transcript that cannot be read: the conversation begins anew all the same. */
const NOTHING_KNOWN: Said = { lines: [], heardGuests: true };

/** Most lines of a conversation that a hook gets before the conversation ends. */
const MOST_SAID = 300;

/** Calls the hooks of plugins when conversations begin and end, with the payloads that plugins of OpenClaw expect. */
function sessionHooks(hooks: Hooks, live: Live, said: (key: SessionKey) => Promise<Said>): SessionWatcher {
  const contextOf = ({ key, agentId, sessionId }: ConversationFacts): HookContext => {
    const agent = live.agents.find(({ id }) => id === agentId) ?? live.defaultAgent;
    return { agentId, sessionKey: key, sessionId, workspaceDir: agent.workspace };
  };
  return {
    get wantsMessages() {
      return hooks.has("before_reset") || hooks.has("session:reset") || hooks.has("session_end");
    },
    async beforeReset({ file, reason, messages, by, ...facts }) {
      const context = contextOf({ ...facts, file });
      const event = { sessionFile: file, messages, reason };
      await hooks.ask({ name: "before_reset", event, context }, () => undefined);
      if (!hooks.has("session:reset")) return;
      const { lines, heardGuests } = await said(facts.key).catch(() => NOTHING_KNOWN);
      const conversation = lines.filter((line) => line.by !== "tool");
      const more = { ...event, conversation, heardGuests, ...by };
      await hooks.ask({ name: "session:reset", event: more, context }, () => undefined);
    },
    ended({ key, sessionId, file, archived, reason, messageCount, next, ...facts }) {
      const event = {
        sessionId,
        sessionKey: key,
        reason,
        messageCount,
        sessionFile: archived ?? file,
        transcriptArchived: archived !== undefined,
        ...(next && { nextSessionId: next.sessionId, nextSessionKey: next.key }),
      };
      hooks.notify("session_end", event, contextOf({ key, sessionId, file, ...facts }));
    },
    started({ resumedFrom, ...facts }) {
      const event = {
        sessionId: facts.sessionId,
        sessionKey: facts.key,
        ...(resumedFrom !== undefined && { resumedFrom }),
      };
      hooks.notify("session_start", event, contextOf(facts));
    },
  };
}
