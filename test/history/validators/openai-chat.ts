import {
  type Faults,
  isDataUrl,
  isFilled,
  isObject,
  isText,
  type Json,
  objects,
  repeated,
  wholeStrings,
  show,
  unless,
} from "./rules.ts";

const ROLES: readonly unknown[] = ["system", "developer", "user", "assistant", "tool"];

/**
 * The rules of the Chat Completions API, as strictly as compatible servers read them: instructions first, then a user,
 * no two answers in a row, tool messages right behind the calls they answer, one each, ids of at most 40 characters.
 */
export function openaiChatFaults(request: Json): Faults {
  const messages = objects(request.messages);
  const talk = messages.filter(({ role }) => role !== "system" && role !== "developer");
  const calls = talk.flatMap((message) => objects(message.tool_calls));
  return [
    ...wholeStrings(request),
    ...unless(talk[0]?.role === "user", "the first message is not a user's"),
    ...(talk.at(-1)?.role === "assistant" ? ["the last message is an assistant's"] : []),
    ...messages.flatMap((message, at) => messageFaults(message, messages[at - 1]).map((fault) => `${at}: ${fault}`)),
    ...calls.flatMap(callFaults),
    ...repeated(calls.map((call) => call.id)).map((id) => `the call id ${show(id)} comes twice`),
    ...pairFaults(talk),
    ...unless(!Array.isArray(request.tools) || request.tools.length > 0, "an empty list of tools"),
  ];
}

function messageFaults(message: Json, before: Json | undefined): Faults {
  const { role, content } = message;
  if (!ROLES.includes(role)) return [`a message of ${show(role)}`];
  if (role === "assistant") {
    return [
      ...(before?.role === "assistant" ? ["two answers in a row"] : []),
      ...unless(isFilled(content) || (content === null && objects(message.tool_calls).length > 0), "an empty answer"),
    ];
  }
  if (isText(content)) return isFilled(content) ? [] : [`an empty message of ${show(role)}`];
  const parts = objects(content);
  if (role === "tool" || parts.length === 0) return [`content of ${show(role)} that is no text`];
  return parts.flatMap(partFaults);
}

function partFaults(part: Json): Faults {
  if (part.type === "text") return isFilled(part.text) ? [] : ["an empty text part"];
  if (part.type !== "image_url" || !isObject(part.image_url)) return [`a part of type ${show(part.type)}`];
  return isDataUrl(part.image_url.url) ? [] : ["an image that cannot be read"];
}

function callFaults({ id, type, function: made }: Json): Faults {
  if (type !== "function" || !isObject(made)) return ["a call of no function"];
  return [
    ...unless(isText(id) && /^[^\s|]{1,40}$/.test(id), `the call id ${show(id)}`),
    ...unless(isText(made.name) && /^[a-zA-Z0-9_-]{1,64}$/.test(made.name), `the function name ${show(made.name)}`),
    ...unless(isText(made.arguments) && isObject(JSON.parse(made.arguments)), "arguments that are no object"),
  ];
}

function pairFaults(talk: readonly Json[]): Faults {
  const faults: Faults = [];
  let open: unknown[] = [];
  for (const message of [...talk, { role: "end" }]) {
    if (message.role === "tool") {
      if (!open.includes(message.tool_call_id)) faults.push(`a result without its call: ${show(message.tool_call_id)}`);
      open = open.filter((id) => id !== message.tool_call_id);
      continue;
    }
    faults.push(...open.map((id) => `no result for ${show(id)}`));
    open = objects(message.tool_calls).map((call) => call.id);
  }
  return faults;
}
