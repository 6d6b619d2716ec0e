import { z } from "zod";
import { keyField, keyParam } from "../../types/key-field.ts";
import { defineMethod, type Method } from "../../types/method.ts";
import { commandsAnswer } from "../../types/answers/chat.ts";
import { modelsAnswer } from "../../types/gateway-status.ts";
import { sessionAnswers } from "../../types/session.ts";
import type { ServerPorts } from "../options.ts";
import type { Hub } from "../transport/hub.ts";
import { historyParams, chatHistory } from "./history.ts";
import { requireAgent } from "./patch.ts";
import { showSession, rowTexts } from "./session-row.ts";

type Ports = Pick<ServerPorts, "chat" | "media" | "sessions" | "catalog">;

const ofSession = z.looseObject({ sessionKey: keyParam(), agentId: z.string().min(1).optional() });

/** Methods that a client calls when it opens a chat. */
export const startupMethods = (ports: Ports, hub: Pick<Hub, "runTexts">): readonly Method[] => [
  defineMethod({
    name: "chat.startup",
    scope: "operator.read",
    params: historyParams,
    result: sessionAnswers.history,
    run: (params) => chatHistory(params, ports, hub),
  }),
  defineMethod({
    name: "chat.metadata",
    scope: "operator.read",
    params: z.looseObject({ sessionKey: keyParam().optional(), agentId: z.string().min(1).optional() }),
    result: z.looseObject({
      ...modelsAnswer.shape,
      ...commandsAnswer.shape,
      swarmEnabled: z.boolean(),
      accountSelection: z.looseObject({ kind: z.string(), label: z.string() }),
      /** With a session. */
      runtimeSelectionLocked: z.boolean().optional(),
    }),
    run: async ({ sessionKey: key, agentId }) => {
      if (key !== undefined) requireAgent({ agentId }, key, ports);
      return {
        ...(await ports.catalog.forInput(agentId)),
        swarmEnabled: false,
        accountSelection: { kind: "automatic", label: "Automatic account selection" },
        ...(key !== undefined && { runtimeSelectionLocked: false }),
      };
    },
  }),
  defineMethod({
    name: "controlUi.sessionPreview",
    scope: "operator.read",
    params: ofSession,
    result: z.looseObject({
      status: z.enum(["ok", "missing"]),
      sessionKey: keyField(),
      agentId: z.string().optional(),
      kind: z.string().optional(),
      updatedAt: z.number().optional(),
      archived: z.boolean().optional(),
      derivedTitle: z.string().optional(),
      lastMessagePreview: z.string().optional(),
    }),
    run: async ({ sessionKey: key }) => {
      const entry = ports.sessions.peek(key);
      if (!entry) return { status: "missing" as const, sessionKey: key };
      const row = { key, entry };
      const { agentId, kind, updatedAt, archived, ...shown } = showSession(row, [], ports);
      const texts = await rowTexts(row, { includeDerivedTitles: true, includeLastMessage: true }, ports);
      const title = "derivedTitle" in shown ? { derivedTitle: shown.derivedTitle } : {};
      return { status: "ok" as const, sessionKey: key, agentId, kind, updatedAt, archived, ...title, ...texts };
    },
  }),
  ...alone,
];

/** Methods about people who share a chat: here one operator reads and writes it, and nobody else. */
const alone: readonly Method[] = [
  defineMethod({
    name: "chat.toolTitles",
    scope: "operator.read",
    params: ofSession,
    result: z.looseObject({ titles: z.record(z.string(), z.string()), disabled: z.boolean() }),
    run: async () => ({ titles: {}, disabled: true }),
  }),
  defineMethod({
    name: "sessions.observer.visibility",
    scope: "operator.read",
    params: z.looseObject({ visible: z.boolean() }),
    result: z.looseObject({ ok: z.boolean() }),
    run: async () => ({ ok: true }),
  }),
  defineMethod({
    name: "sessions.companion.state",
    scope: "operator.read",
    params: z.looseObject({ sessionKey: keyParam() }),
    result: z.looseObject({ exchanges: z.array(z.unknown()) }),
    run: async () => ({ exchanges: [] }),
  }),
  defineMethod({
    name: "sessions.viewers.set",
    scope: "operator.read",
    params: z.looseObject({ sessionKeys: z.array(keyParam()).max(200) }),
    result: z.looseObject({ sessionKeys: z.array(keyField()) }),
    run: async ({ sessionKeys }) => ({ sessionKeys }),
  }),
  defineMethod({
    name: "session.typing",
    scope: "operator.write",
    params: z.looseObject({ sessionKey: keyParam(), typing: z.boolean() }),
    result: z.looseObject({ ok: z.boolean(), broadcast: z.boolean() }),
    run: async () => ({ ok: true, broadcast: false }),
  }),
  defineMethod({
    name: "session.members.list",
    scope: "operator.read",
    params: z.looseObject({ sessionKey: keyParam() }),
    result: z.looseObject({
      sessionKey: keyField(),
      members: z.array(z.unknown()),
      identities: z.array(z.unknown()),
      role: z.string(),
      allowedVisibilities: z.array(z.string()),
    }),
    run: async ({ sessionKey }) => ({
      sessionKey,
      members: [],
      identities: [],
      role: "admin",
      allowedVisibilities: ["shared"],
    }),
  }),
  defineMethod({
    name: "session.suggestions.list",
    scope: "operator.read",
    params: z.looseObject({ sessionKey: keyParam() }),
    result: z.looseObject({ role: z.string(), suggestions: z.array(z.unknown()) }),
    run: async () => ({ role: "admin", suggestions: [] }),
  }),
  defineMethod({
    name: "session.discussion.info",
    scope: "operator.read",
    params: z.looseObject({ sessionKey: keyParam() }),
    result: z.looseObject({ state: z.string() }),
    run: async () => ({ state: "none" }),
  }),
];
