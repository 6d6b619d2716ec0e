import {
  type Faults,
  isBase64,
  isFilled,
  isObject,
  isText,
  isWebImage,
  type Json,
  objects,
  repeated,
  wholeStrings,
  show,
  unless,
} from "./rules.ts";

/**
 * The rules of the Messages API: user first, roles alternate (user turns in a row count as one, with the results of
 * tools in front), every tool use answered in the next turn and nowhere else, signed thinking never last.
 */
export function anthropicFaults(request: Json): Faults {
  const sent = objects(request.messages);
  const turns = joinUserTurns(sent);
  const uses = turns.flatMap((turn) => turn.content.filter((block) => block.type === "tool_use"));
  return [
    ...wholeStrings(request),
    ...unless(turns[0]?.role === "user", "the first turn is not a user's"),
    ...unless(turns.at(-1)?.role === "user", "the last turn is not a user's"),
    ...turns.flatMap((turn, at) => turnFaults(turn, turns[at - 1], turns[at + 1]).map((fault) => `${at}: ${fault}`)),
    ...repeated(uses.map((block) => block.id)).map((id) => `the tool use id ${show(id)} comes twice`),
    ...(turns.flatMap((turn) => turn.content.filter((block) => block.type === "image")).length > 100 ? ["images"] : []),
    ...loopFaults(request, turns),
    ...unless(uses.length === 0 || objects(request.tools).length > 0, "tool blocks without tools"),
  ];
}

interface Turn {
  readonly role: unknown;
  readonly content: Json[];
}

function joinUserTurns(sent: readonly Json[]): Turn[] {
  const turns: Turn[] = [];
  for (const { role, content } of sent) {
    const blocks = isText(content) ? [{ type: "text", text: content }] : objects(content);
    const last = turns.at(-1);
    if (role === "user" && last?.role === "user") last.content.push(...blocks);
    else turns.push({ role, content: [...blocks] });
  }
  return turns;
}

function turnFaults(turn: Turn, before: Turn | undefined, after: Turn | undefined): Faults {
  const { role, content } = turn;
  if (content.length === 0) return ["no content"];
  if (role !== "user" && role !== "assistant") return [`a turn of ${show(role)}`];
  return [
    ...(before?.role === role ? ["two turns of one role in a row"] : []),
    ...content.flatMap((block) => (role === "user" ? userBlock(block) : answerBlock(block))),
    ...(role === "user" ? resultFaults(content, before) : endFaults(content, after)),
  ];
}

function userBlock(block: Json): Faults {
  if (block.type === "text") return isFilled(block.text) ? [] : ["an empty text block"];
  if (block.type === "image") return imageFaults(block);
  if (block.type !== "tool_result") return [`a user's ${show(block.type)}`];
  if (isText(block.content)) return [];
  return objects(block.content).flatMap((part) =>
    part.type === "tool_result" ? ["a result in a result"] : userBlock(part),
  );
}

function imageFaults({ source }: Json): Faults {
  if (!isObject(source) || source.type !== "base64") return ["an image without source"];
  const { data, media_type: type } = source;
  if (!isBase64(data) || !isWebImage(type)) return ["an image that cannot be read"];
  return isText(data) && data.length > 5_242_880 ? ["an image over 5 MiB"] : [];
}

function answerBlock(block: Json): Faults {
  if (block.type === "text") return isFilled(block.text) ? [] : ["an empty text block"];
  if (block.type === "thinking") return isFilled(block.signature) ? [] : ["thinking without a signature"];
  if (block.type === "redacted_thinking") return isFilled(block.data) ? [] : ["redacted thinking without data"];
  if (block.type !== "tool_use") return [`an assistant's ${show(block.type)}`];
  return [
    ...unless(isText(block.id) && /^[a-zA-Z0-9_-]{1,64}$/.test(block.id), `the tool use id ${show(block.id)}`),
    ...unless(isText(block.name) && /^[a-zA-Z0-9_-]{1,128}$/.test(block.name), `the tool name ${show(block.name)}`),
    ...unless(isObject(block.input), "a tool's input is no object"),
  ];
}

function resultFaults(content: readonly Json[], before: Turn | undefined): Faults {
  const wanted = (before?.content ?? []).filter((block) => block.type === "tool_use").map((block) => block.id);
  const given = content.filter((block) => block.type === "tool_result").map((block) => block.tool_use_id);
  const inFront = content.slice(0, given.length).every((block) => block.type === "tool_result");
  return [
    ...wanted.filter((id) => !given.includes(id)).map((id) => `no result for ${show(id)}`),
    ...given.filter((id) => !wanted.includes(id)).map((id) => `a result without its use: ${show(id)}`),
    ...repeated(given).map((id) => `two results for ${show(id)}`),
    ...unless(inFront, "results are not in front"),
  ];
}

function endFaults(content: readonly Json[], after: Turn | undefined): Faults {
  const last = content.at(-1)?.type;
  return [
    ...(last === "thinking" || last === "redacted_thinking" ? ["an answer ends in thinking"] : []),
    ...(after === undefined && content.some((block) => block.type === "tool_use") ? ["a use at the end"] : []),
  ];
}

/** With a thinking budget, an answer whose tool results are being given has to begin with its thinking. */
function loopFaults({ thinking }: Json, turns: readonly Turn[]): Faults {
  if (!isObject(thinking) || thinking.type !== "enabled") return [];
  const answer = turns.at(-2);
  const looping = turns.at(-1)?.content.some((block) => block.type === "tool_result") ?? false;
  if (!looping || answer === undefined) return [];
  const first = answer.content[0]?.type;
  return first === "thinking" || first === "redacted_thinking" ? [] : ["a tool loop that does not begin with thinking"];
}
