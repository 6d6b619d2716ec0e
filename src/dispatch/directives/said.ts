import type { SessionKey } from "../../types/ids.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { parseModelName } from "../../types/run/model.ts";
import { own } from "../../utils/own.ts";
import { mayHoldCommands, refusalOf } from "./access.ts";
import type { DispatchPorts } from "../ports.ts";
import type { DispatchSettings } from "../settings.ts";
import { mayUse } from "../candidates.ts";
import { directivesIn, withoutDirectives, type FoundDirective } from "./parse.ts";
import type { DirectiveValues, KnownWords } from "./table.ts";

/** The text of a message for the agent, and the values that its directives set. */
export interface SaidText {
  readonly text: string;
  readonly values: DirectiveValues;
}

type Ports = Pick<DispatchPorts, "kinds" | "settings">;

/**
 * The directives of a message that its sender may use. Other directives are part of the text, as all are where commands
 * are off and in a forwarded text. `text` is the message's own text when unset.
 */
export function directivesOf(
  message: InboundMessage,
  key: SessionKey,
  { kinds, settings }: Ports,
  text = message.text,
): readonly FoundDirective[] {
  if (!text.includes("/") || !settings().textCommands || !mayHoldCommands(message, { kinds })) return [];
  return directivesIn(text, knownTo(key, settings())).filter(
    ({ command, who, args }) =>
      refusalOf({ command: { name: command, who }, args }, { message, key }, settings()) === undefined,
  );
}

/** The names of models that the agent of a session knows. */
function knownTo(key: SessionKey, { agents, agentOf }: DispatchSettings): KnownWords {
  return {
    modelOf(word) {
      const agent = agents.get(agentOf(key));
      const ref = agent && parseModelName(own(agent.modelAliases ?? {}, word) ?? word);
      return ref && mayUse(agent, ref) ? ref : undefined;
    },
  };
}

/**
 * The text of a message without its directives, and the values that they set; of two values for the same setting, the
 * last one counts.
 */
export function saidIn(message: InboundMessage, key: SessionKey, ports: Ports, text = message.text): SaidText {
  const found = directivesOf(message, key, ports, text);
  if (found.length === 0) return { text, values: {} };
  return { text: withoutDirectives(text, found), values: valuesOf(found) };
}

function valuesOf(found: readonly FoundDirective[]): DirectiveValues {
  const queue = Object.assign({}, ...found.map(({ values }) => values.queue));
  const others = Object.assign({}, ...found.map(({ values: { queue: _merged, ...rest } }) => rest));
  return { ...others, ...(Object.keys(queue).length > 0 && { queue }) };
}

/** The values that the messages of one turn set; of two values for the same setting, the last one counts. */
export const setBy = (messages: readonly InboundMessage[], key: SessionKey, ports: Ports): DirectiveValues =>
  Object.assign({}, ...messages.map((message) => saidIn(message, key, ports).values));
