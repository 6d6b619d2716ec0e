import { z } from "zod";
import { dropNow, runNow } from "../../../dispatch/clients/operator.ts";
import { ofAgent } from "../../../types/run/agent-filter.ts";
import { keyParam } from "../../../types/key-field.ts";
import { type Answer, defineMethod, type Method } from "../../../types/method.ts";
import { dropInbox, dropOutbox, retryInbox, retryOutbox, type Desk } from "../../messages/act.ts";
import { listInbox, listOutbox, showInbox, showOutbox } from "../../messages/list.ts";
import { why } from "../../messages/why.ts";
import type { Parts } from "../parts/parts.ts";
import { answered } from "./run-methods.ts";
import type { Dispatch } from "../../../dispatch/dispatch.ts";
import { runIdOf } from "../../../dispatch/turn-facts.ts";
import type { MessageLook } from "../../../store/journal/messages.ts";
import type { SessionKey } from "../../../types/ids.ts";
import type { InboxRow } from "../../../types/journal.ts";
import type { TurnKinds } from "../../../types/run/turn-kind.ts";
import { type Done, messageAnswers } from "../../../types/answers/messages.ts";
import { cameIn } from "../../messages/view.ts";

const oneRow = z.looseObject({ id: z.int().min(1) });
const list = z.looseObject({
  limit: z.int().min(1).max(1000).default(50),
  channel: z.string().min(1).optional(),
  sessionKey: keyParam().optional(),
  agentId: z.string().min(1).optional(),
  open: z.boolean().optional(),
});

/** The protocol's methods that show, retry and end messages and replies. */
export function messageMethods(parts: Parts): readonly Method[] {
  const { journal } = parts.core;
  const filterOf = ({ channel, sessionKey, agentId, open }: z.output<typeof list>) => ({
    channel,
    ...ofAgent(agentId, parts.live.defaultAgent.id),
    sessionKey,
    isOpen: open,
  });
  return [
    defineMethod({
      name: "inbox.list",
      scope: "operator.read",
      params: list,
      result: messageAnswers.inboxList,
      run: (asked) => listInbox(journal, asked.limit, filterOf(asked)),
    }),
    defineMethod({
      name: "outbox.list",
      scope: "operator.read",
      params: list,
      result: messageAnswers.outboxList,
      run: (asked) => listOutbox(journal, asked.limit, filterOf(asked)),
    }),
    defineMethod({
      name: "sessions.queue",
      scope: "operator.read",
      params: z.looseObject({ key: keyParam() }),
      result: messageAnswers.queue,
      run: async ({ key }) => {
        const { dispatch, ports } = parts.core;
        return {
          key,
          messages: await waitingMessages(key, { dispatch, messages: journal.messages, kinds: ports.kinds }),
        };
      },
    }),
    look("inbox.get", messageAnswers.inboxRow, (id) => showInbox(journal, id)),
    look("outbox.get", messageAnswers.outboxRow, (id) => showOutbox(journal, id)),
    defineMethod({
      name: "messages.why",
      scope: "operator.read",
      params: z.looseObject({ id: z.string().min(1), channel: z.string().min(1).optional() }),
      result: messageAnswers.why,
      run: (asked) => answered(why(journal, asked)),
    }),
    ...acts(parts),
  ];
}

function acts(parts: Parts): readonly Method[] {
  const desk = deskOf(parts);
  return [
    act(parts, "inbox.retry", (id) => retryInbox(desk, id)),
    act(parts, "inbox.drop", (id) => dropInbox(desk, id)),
    act(parts, "outbox.retry", (id) => retryOutbox(desk, id)),
    act(parts, "outbox.drop", (id) => dropOutbox(desk, id)),
  ];
}

const look = <Row>(name: string, result: z.ZodType<unknown, Row>, show: (id: number) => Promise<Answer<Row>>): Method =>
  defineMethod({ name, scope: "operator.read", params: oneRow, result, run: ({ id }) => answered(show(id)) });

function act({ log }: Parts, name: string, work: (id: number) => Promise<Done>): Method {
  return defineMethod({
    name,
    scope: "operator.write",
    params: oneRow,
    result: messageAnswers.done,
    async run({ id }) {
      const done = await answered(work(id));
      log.info("operator acted", { method: name, row: id, did: done.did });
      return done;
    },
  });
}

function deskOf({ core }: Parts): Desk {
  const { journal, dispatch, ports, outbox } = core;
  return {
    journal,
    gateway: {
      run: (row) => runNow(row, dispatch, ports),
      drop: (row) => dropNow(row, dispatch, ports),
      isUnderway: (id) => outbox.isUnderway(id),
      send: (row) => outbox.retry(row),
      unsend: (id) => outbox.drop(id),
    },
  };
}

interface Place {
  readonly dispatch: { readonly lanes: Pick<Dispatch["lanes"], "waitingIn"> };
  readonly messages: Pick<MessageLook, "inboxRow">;
  readonly kinds: TurnKinds;
}

/** The messages of people that wait in a session, in the order in which their turns begin. */
async function waitingMessages(key: SessionKey, { dispatch, messages, kinds }: Place) {
  const said = dispatch.lanes.waitingIn(key).filter(({ message }) => kinds.of(message).takesCommands);
  // A message that was dropped may still be part of a turn that waits with others.
  const rows = await Promise.all(said.map(async (row) => ((await messages.inboxRow(row.id))?.outcome ? [] : [row])));
  return rows.flat().map(showWaiting);
}

function showWaiting(row: InboxRow) {
  const { channel, text, files, receivedAt, sender, isOperator } = cameIn(row);
  return {
    id: row.id,
    runId: runIdOf(row),
    channel,
    text,
    files,
    receivedAt,
    sender,
    ...(isOperator === true && { isOperator }),
  };
}
