import {
  type Faults,
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

/**
 * The rules of Converse for Claude: user first and last, roles alternate with results as a user turn, one kind per
 * block, every use answered in the next turn, tool blocks only with a tool configuration, signed reasoning never last.
 */
export function bedrockFaults(request: Json): Faults {
  const messages = objects(request.messages);
  const uses = messages.flatMap((message) => idsOf(message, "toolUse"));
  const images = messages.flatMap((message) => objects(message.content).filter((block) => isObject(block.image)));
  return [
    ...wholeStrings(withoutBytes(request)),
    ...unless(messages[0]?.role === "user", "the first turn is not a user's"),
    ...unless(messages.at(-1)?.role === "user", "the last turn is not a user's"),
    ...messages.flatMap((message, at) => turnFaults(message, messages[at - 1]).map((fault) => `${at}: ${fault}`)),
    ...repeated(uses).map((id) => `the tool use id ${show(id)} comes twice`),
    ...unless(uses.length === 0 || isObject(request.toolConfig), "tool blocks without a tool configuration"),
    ...unless(images.length <= 20, "too many images"),
    ...loopFaults(request, messages),
  ];
}

/** Bytes of images are no strings. */
function withoutBytes(value: unknown): unknown {
  if (value instanceof Uint8Array) return null;
  if (Array.isArray(value)) return value.map(withoutBytes);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutBytes(inner)]));
}

function idsOf(message: Json | undefined, kind: "toolUse" | "toolResult"): unknown[] {
  return objects(message?.content).flatMap((block) => {
    const made = block[kind];
    return isObject(made) ? [made.toolUseId] : [];
  });
}

function turnFaults(message: Json, before: Json | undefined): Faults {
  const { role } = message;
  const content = objects(message.content);
  if (content.length === 0) return ["no content"];
  if (role !== "user" && role !== "assistant") return [`a turn of ${show(role)}`];
  const asked = idsOf(before, "toolUse");
  const given = idsOf(message, "toolResult");
  const pairs = given.length === asked.length && asked.every((id) => given.includes(id));
  return [
    ...unless(before?.role !== role, "two turns of one role in a row"),
    ...content.flatMap((block) => (role === "user" ? userBlock(block) : answerBlock(block))),
    ...unless(role === "assistant" || pairs, `results ${show(given)} for uses ${show(asked)}`),
    ...unless(role === "user" || !isObject(content.at(-1)?.reasoningContent), "an answer ends in reasoning"),
  ];
}

function userBlock(block: Json): Faults {
  if (Object.keys(block).length !== 1) return ["a block of several kinds"];
  if (isObject(block.cachePoint)) return [];
  if (isObject(block.toolResult)) {
    const parts = objects(block.toolResult.content);
    return parts.length === 0 ? ["a result of nothing"] : parts.flatMap(seenFaults);
  }
  return seenFaults(block);
}

function seenFaults(block: Json): Faults {
  if (!isObject(block.image)) return isFilled(block.text) ? [] : ["an empty text"];
  const { format, source } = block.image;
  const bytes = isObject(source) ? source.bytes : undefined;
  const isKnown = isText(format) && ["png", "jpeg", "gif", "webp"].includes(format);
  return isKnown && bytes instanceof Uint8Array && bytes.byteLength > 0 ? [] : ["an image that cannot be read"];
}

function answerBlock(block: Json): Faults {
  if (Object.keys(block).length !== 1) return ["a block of several kinds"];
  if (isObject(block.reasoningContent)) return reasoningFaults(block.reasoningContent);
  if (!isObject(block.toolUse)) return isFilled(block.text) ? [] : ["an empty text"];
  const { toolUseId, name, input } = block.toolUse;
  return [
    ...unless(isText(toolUseId) && /^[a-zA-Z0-9_-]{1,64}$/.test(toolUseId), `the tool use id ${show(toolUseId)}`),
    ...unless(isText(name) && /^[a-zA-Z0-9_-]{1,64}$/.test(name), `the tool name ${show(name)}`),
    ...unless(isObject(input), "a tool's input is no object"),
  ];
}

function reasoningFaults({ reasoningText }: Json): Faults {
  if (!isObject(reasoningText)) return ["reasoning of nothing"];
  const isSigned = isFilled(reasoningText.signature);
  return [...unless(isFilled(reasoningText.text), "empty reasoning"), ...unless(isSigned, "unsigned reasoning")];
}

/** With a thinking budget, an answer whose results are being given has to begin with its reasoning. */
function loopFaults({ additionalModelRequestFields: more }: Json, messages: readonly Json[]): Faults {
  if (!isObject(more) || more.thinking === undefined) return [];
  if (idsOf(messages.at(-1), "toolResult").length === 0) return [];
  const [first] = objects(messages.at(-2)?.content);
  return unless(isObject(first?.reasoningContent), "a tool loop that does not begin with reasoning");
}
