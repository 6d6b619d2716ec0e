import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { readChecklist } from "../../../automation/checklist.ts";
import { Heartbeats, heartbeatsAnswer, type BeatReport } from "../../../automation/heartbeat.ts";
import { agentOf } from "../../../sessions/keys.ts";
import { CHECKLIST } from "../../../prompt/bootstrap.ts";
import { agentId, type SessionKey } from "../../../types/ids.ts";
import { keyParam } from "../../../types/key-field.ts";
import { type Answer, defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { lastChat, mainKey, placeOfBeat } from "../parts/heartbeat-place.ts";
import type { Parts } from "../parts/parts.ts";
import type { WakeAct } from "../../../automation/hooks/acts.ts";
import { hookMessage } from "../../../automation/hooks/hook-message.ts";
import { chatOf } from "../../../sessions/chat-of.ts";

/** The heartbeats of a gateway; they begin with `start`. */
export function createHeartbeats({
  live,
  log,
  core,
  channels,
}: Omit<Parts, "heartbeats" | "cron" | "plugins">): Heartbeats {
  const { lanes } = core.dispatch;
  const parts = { live, channels, sessions: core.sessions };
  return new Heartbeats({
    clock: core.ports.clock,
    log,
    inbox: core.journal.inbox,
    // With another gateway on the same chats, this one sends nothing on its own.
    agents: () => (channels.held === undefined ? live.agents : []),
    checklist: (workspace) => readChecklist(join(workspace, CHECKLIST)),
    place: (agent, settings, cause) => placeOfBeat(agent, settings, { cause, parts }),
    mainOf: async ({ id }) => (await lastChat(id, undefined, parts)).found?.key ?? mainKey(id, live.defaultAgent.id),
    isBusy: (key) => lanes.isBusy(key),
    isAnyBusy: () => lanes.runs().length > 0,
    tell: (key, text) => core.journal.events.add(key, text),
    receive: (messages) => core.dispatch.receive(messages),
  });
}

const MOST_EVENT_CHARS = 4000;

/** The protocol's methods for heartbeats and system events, with OpenClaw's names. */
export function heartbeatMethods({ heartbeats, live, core }: Parts): readonly Method[] {
  const idOf = (text: string | undefined) => (text === undefined ? live.defaultAgent.id : agentId(text));
  const agentIn = (key: SessionKey) => agentOf(key, live.defaultAgent.id);
  return [
    defineMethod({
      name: "last-heartbeat",
      scope: "operator.read",
      // With `agents` the times of the next ones come before the first has ended, too.
      params: z.looseObject({ agents: z.boolean().optional() }),
      result: heartbeatsAnswer.nullable(),
      run: async ({ agents = false }) => {
        const answer = heartbeatsOf(heartbeats.isOn, await heartbeats.reports());
        return agents || answer.ts !== undefined ? answer : null;
      },
    }),
    defineMethod({
      name: "set-heartbeats",
      scope: "operator.admin",
      params: z.looseObject({ enabled: z.boolean() }),
      result: heartbeatsAnswer,
      run: async ({ enabled }) => {
        heartbeats.isOn = enabled;
        return heartbeatsOf(heartbeats.isOn, await heartbeats.reports());
      },
    }),
    systemEvent({ heartbeats, live, core }),
    defineMethod({
      name: "wake",
      scope: "operator.write",
      params: z.looseObject({
        text: z.string().trim().max(MOST_EVENT_CHARS).optional(),
        mode: z.enum(["now", "next-heartbeat"]).default("now"),
        agentId: z.string().min(1).optional(),
        sessionKey: keyParam().optional(),
      }),
      result: z.union([heartbeatsAnswer, z.looseObject({ ok: z.boolean() })]),
      run: async ({ text = "", mode, agentId: named, sessionKey }) => {
        if (sessionKey !== undefined && text === "") throw refused("give the text for the conversation");
        if (sessionKey !== undefined && named !== undefined && agentIn(sessionKey) !== idOf(named))
          throw refused("sessionKey: it belongs to another agent than agentId");
        if (sessionKey !== undefined) return wakeSession({ live, core }, { sessionKey, text, mode });
        const id = idOf(named);
        if (mode === "next-heartbeat" && text === "") throw refused("the text for the next heartbeat is empty");
        if (mode === "next-heartbeat") {
          if (!(await heartbeats.tell(id, text))) throw new MethodError("NOT_FOUND", `there is no agent "${id}"`);
          return { ok: true };
        }
        const report = await heartbeats.wake(id, text === "" ? undefined : text);
        if (!report) throw noBeat(id);
        return heartbeatsOf(heartbeats.isOn, [report]);
      },
    }),
  ];
}

const systemEvent = ({ heartbeats, live, core }: Pick<Parts, "heartbeats" | "live" | "core">): Method =>
  defineMethod({
    name: "system-event",
    scope: "operator.admin",
    params: z.looseObject({
      text: z.string().trim().min(1).max(MOST_EVENT_CHARS),
      sessionKey: keyParam().optional(),
    }),
    result: z.looseObject({ ok: z.boolean() }),
    run: async ({ text, sessionKey: key }) => {
      if (key !== undefined && !core.sessions.peek(key)) throw noConversation();
      if (key === undefined) await heartbeats.tell(live.defaultAgent.id, text);
      else await core.journal.events.add(key, text);
      return { ok: true };
    },
  });

const refused = (text: string): MethodError => new MethodError("INVALID_REQUEST", text);

const noConversation = (): MethodError => new MethodError("NOT_FOUND", "there is no such conversation");

const noBeat = (id: string): MethodError =>
  refused(`the agent "${id}" has no heartbeat: set agents.defaults.heartbeat.every`);

function heartbeatsOf(enabled: boolean, reports: readonly BeatReport[]): Answer<z.output<typeof heartbeatsAnswer>> {
  return {
    ok: true,
    enabled,
    ...lastEnd(reports),
    agents: reports.map(({ row, ...report }) => ({
      ...report,
      ...(row && {
        inbox: row.id,
        state: row.state,
        ...(row.sessionKey !== undefined && { sessionKey: row.sessionKey }),
        ...(row.runId !== undefined && { runId: row.runId }),
        ...(row.outcome && { outcome: row.outcome }),
      }),
    })),
  };
}

function lastEnd(reports: readonly BeatReport[]) {
  const [last] = reports
    .filter(({ skipped, row }) => skipped !== undefined || row?.outcome !== undefined)
    .toSorted((a, b) => b.at - a.at);
  if (!last) return {};
  const { at: ts, skipped, row } = last;
  if (skipped !== undefined) return { ts, status: "skipped" as const, reason: skipped };
  switch (row?.outcome?.kind) {
    case "replied":
      return { ts, status: "sent" as const };
    case "failed":
    case "dropped":
      return { ts, status: "failed" as const, reason: row.outcome.why };
    case "aborted":
      return { ts, status: "failed" as const, reason: "aborted" };
    default:
      return { ts, status: "ok-token" as const };
  }
}

/** Gives a conversation a text: at once, as a turn whose answer its chat gets, or with its next turn. Throws when there is none. */
async function wakeSession(
  { live, core }: Pick<Parts, "live" | "core">,
  { sessionKey: key, ...wish }: Pick<WakeAct, "text" | "mode"> & { readonly sessionKey: SessionKey },
): Promise<{ readonly ok: true }> {
  const defaultAgent = live.defaultAgent.id;
  const entry = core.sessions.peek(key);
  if (!entry) throw noConversation();
  const act: WakeAct = { kind: "wake", name: "wake", isTrusted: true, ...wish };
  const place = { sessionKey: key, to: chatOf(key, entry, defaultAgent) };
  await core.dispatch.receive([hookMessage(act, `wake:${randomUUID()}`, place, core.ports.clock.now())]);
  return { ok: true };
}
