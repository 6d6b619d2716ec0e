import type { InboundMessage, Peer, RelayTurn } from "../../types/chat/message.ts";
import { channelId, DEFAULT_ACCOUNT, runId, type RunId, type SessionKey } from "../../types/ids.ts";
import { RELAY_KIND } from "./relay-turn.ts";

/** The channel of messages between sessions. No adapter has this name. */
export const RELAY = channelId("relay");

/** One message to another session, and everything that may follow from it. */
export interface Exchange {
  readonly traceId: string;
  /** The sessions before the asked one, the asking one last. */
  readonly trace: readonly SessionKey[];
  readonly asker: SessionKey;
  readonly asked: SessionKey;
  /** The run that wrote the first message. */
  readonly by: RunId | undefined;
  readonly text: string;
  readonly rights: Pick<RelayTurn, "isOwner">;
  readonly maxPingPongTurns: number;
  /** The chat of the asked session, which may be told at the end; unset when it has none. */
  readonly to: Peer | undefined;
  readonly now: number;
}

/** The id of the run of a step. */
export const stepRun = ({ traceId }: Pick<Exchange, "traceId">, step: number): RunId =>
  runId(`relay:${traceId}:${step}`);

/** The message to the asked session. What follows from it is part of it, so that it happens through restarts, and once. */
export function relayMessage(exchange: Exchange): InboundMessage {
  const last = lastStep(exchange);
  let next = last;
  for (let step = exchange.maxPingPongTurns + 1; step > 1; step -= 1) next = answerStep(exchange, step, next);
  return message(exchange, 1, {
    to: exchange.asked,
    text: exchange.text,
    relay: { ...relayOf(exchange, exchange.asker, exchange.maxPingPongTurns), step: "answer" },
    whenEnded: next,
  });
}

/** The asked agent answers in the odd steps. */
function answerStep(exchange: Exchange, step: number, whenEnded: InboundMessage): InboundMessage {
  const { asker, asked, maxPingPongTurns } = exchange;
  const [to, from] = step % 2 === 0 ? [asker, asked] : [asked, asker];
  const turnsLeft = maxPingPongTurns + 1 - step;
  return message(exchange, step, {
    to,
    text: "",
    relay: {
      ...relayOf(exchange, from, turnsLeft),
      step: "answer",
      answerOf: { key: from, runId: stepRun(exchange, step - 1) },
    },
    whenEnded,
  });
}

function lastStep(exchange: Exchange): InboundMessage {
  const { asker, asked, text, maxPingPongTurns, to } = exchange;
  return message(exchange, maxPingPongTurns + 2, {
    to: asked,
    text: `Another agent wrote:\n${text}`,
    relay: { ...relayOf(exchange, asker, 0), step: "last", answerOf: { key: asked, runId: stepRun(exchange, 1) } },
    deliverTo: to,
  });
}

const relayOf = (
  { traceId, trace, asker, asked, rights }: Exchange,
  from: SessionKey,
  turnsLeft: number,
): Omit<RelayTurn, "step"> => ({
  from,
  between: [asker, asked],
  traceId,
  trace: [...trace, asked],
  turnsLeft,
  ...rights,
});

interface Step {
  readonly to: SessionKey;
  readonly text: string;
  readonly relay: RelayTurn;
  readonly whenEnded?: InboundMessage;
  readonly deliverTo?: Peer | undefined;
}

function message(exchange: Exchange, step: number, { to, text, relay, whenEnded, deliverTo }: Step): InboundMessage {
  const id = stepRun(exchange, step);
  return {
    id,
    eventKey: id,
    from: { channel: RELAY, account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: to } },
    sender: { id: "gateway", name: "Agent" },
    text,
    media: [],
    mentionsBot: true,
    receivedAt: exchange.now,
    options: {
      operator: true,
      sessionKey: to,
      kind: RELAY_KIND,
      relay,
      ...(whenEnded && { whenEnded }),
      ...(deliverTo && { deliverTo }),
      ...(exchange.by !== undefined && { broughtBy: exchange.by }),
    },
  };
}
