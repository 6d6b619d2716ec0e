import {
  type Faults,
  isDataUrl,
  isFilled,
  isObject,
  isText,
  type Json,
  objects,
  repeated,
  show,
  unless,
  wholeStrings,
} from "./rules.ts";

/** Who may follow whom: a user never stands behind a tool, nor an answer behind an answer. */
const FOLLOWS: Readonly<Record<string, readonly unknown[]>> = {
  system: [undefined],
  user: [undefined, "system", "assistant", "user"],
  assistant: ["user", "tool"],
  tool: ["assistant", "tool"],
};

/**
 * The rules of Mistral's chat: a user or a tool speaks last, calls are answered at once with as many results, ids have
 * nine letters and digits.
 */
export function mistralFaults(request: Json): Faults {
  const messages = objects(request.messages);
  const calls = messages.flatMap((message) => objects(message.toolCalls));
  const last = messages.at(-1)?.role;
  return [
    ...wholeStrings(request),
    ...unless(last === "user" || last === "tool", `the last message is of ${show(last)}`),
    ...messages.flatMap((message, at) => messageFaults(message, messages[at - 1]).map((fault) => `${at}: ${fault}`)),
    ...calls.flatMap(callFaults),
    ...repeated(calls.map((call) => call.id)).map((id) => `the call id ${show(id)} comes twice`),
    ...pairFaults(messages),
  ];
}

function messageFaults(message: Json, before: Json | undefined): Faults {
  const { role, content } = message;
  const allowed = isText(role) ? FOLLOWS[role] : undefined;
  if (allowed?.includes(before?.role) !== true) return [`${show(role)} behind ${show(before?.role)}`];
  if (role === "assistant" && content === undefined) return unless(objects(message.toolCalls).length > 0, "no answer");
  if (isText(content)) return unless(isFilled(content), "an empty message");
  const parts = objects(content);
  return parts.length === 0 ? ["no content"] : parts.flatMap((part) => partFaults(part, role));
}

function partFaults(part: Json, role: unknown): Faults {
  if (part.type === "text") return unless(isFilled(part.text), "an empty text");
  if (part.type === "image_url") return unless(role !== "assistant" && isDataUrl(part.imageUrl), "an image");
  if (part.type !== "thinking" || role !== "assistant") return [`a part of type ${show(part.type)}`];
  return objects(part.thinking).flatMap((thought) => unless(isFilled(thought.text), "an empty thought"));
}

function callFaults({ id, function: made }: Json): Faults {
  if (!isObject(made)) return ["a call of no function"];
  return [
    ...unless(isText(id) && /^[a-zA-Z0-9]{9}$/.test(id), `the call id ${show(id)}`),
    ...unless(isText(made.name) && /^[a-zA-Z0-9_-]{1,64}$/.test(made.name), `the function name ${show(made.name)}`),
    ...unless(isText(made.arguments) && isObject(JSON.parse(made.arguments)), "arguments that are no object"),
  ];
}

function pairFaults(messages: readonly Json[]): Faults {
  const faults: Faults = [];
  let open: unknown[] = [];
  for (const message of [...messages, { role: "end" } as const]) {
    if (message.role === "tool") {
      const { toolCallId } = message;
      faults.push(...unless(open.includes(toolCallId), `a result without its call: ${show(toolCallId)}`));
      open = open.filter((id) => id !== toolCallId);
      continue;
    }
    faults.push(...open.map((id) => `no result for ${show(id)}`));
    open = "toolCalls" in message ? objects(message.toolCalls).map((call) => call.id) : [];
  }
  return faults;
}
