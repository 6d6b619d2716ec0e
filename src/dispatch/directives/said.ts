import type { SessionKey } from "../../types/ids.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { refusalOf } from "../commands/access.ts";
import type { DispatchPorts } from "../ports.ts";
import { directivesIn, withoutDirectives, type DirectiveValues, type FoundDirective } from "./parse.ts";

/** What a message says to the agent, and what its directives set. */
export interface Said {
  readonly text: string;
  readonly values: DirectiveValues;
}

type Ports = Pick<DispatchPorts, "kinds" | "settings">;

/**
 * The directives of a message that its sender may use. The others are part of its text, as all are where commands are off.
 * `text` is the message's own when unset.
 */
export function directivesOf(
  message: InboundMessage,
  key: SessionKey,
  { kinds, settings }: Ports,
  text = message.text,
): readonly FoundDirective[] {
  if (!text.includes("/") || !settings().textCommands || !kinds.of(message).takesCommands) return [];
  return directivesIn(text).filter(
    ({ command, args }) =>
      refusalOf({ command: { name: command, who: "conversation" }, args }, { message, key }, settings()) === undefined,
  );
}

/** What a message says without its directives, and what they set; of two for the same, the last one counts. */
export function saidIn(message: InboundMessage, key: SessionKey, ports: Ports, text = message.text): Said {
  const found = directivesOf(message, key, ports, text);
  if (found.length === 0) return { text, values: {} };
  return { text: withoutDirectives(text, found), values: valuesOf(found) };
}

function valuesOf(found: readonly FoundDirective[]): DirectiveValues {
  const queue = Object.assign({}, ...found.map(({ values }) => values.queue));
  const think = found.findLast(({ values }) => values.think)?.values.think;
  const verbose = found.findLast(({ values }) => values.verbose)?.values.verbose;
  return { ...(think && { think }), ...(verbose && { verbose }), ...(Object.keys(queue).length > 0 && { queue }) };
}

/** The level of verbosity that the last of these messages sets which sets one. */
export const verboseIn = (
  messages: readonly InboundMessage[],
  key: SessionKey,
  ports: Ports,
): DirectiveValues["verbose"] =>
  messages.map((message) => saidIn(message, key, ports).values.verbose).findLast((level) => level !== undefined);
