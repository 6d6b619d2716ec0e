import {
  type Faults,
  isBase64,
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

/**
 * The rules of the Responses API without stored state: every output has its call before it and every call its one
 * output, item ids come once, a reasoning item holds its content and is followed by an item of its own answer.
 */
export function openaiResponsesFaults(request: Json): Faults {
  const items = objects(request.input);
  const ids = items.flatMap((item) => (item.id === undefined ? [] : [item.id]));
  return [
    ...wholeStrings(request),
    ...unless(items.length > 0, "no input"),
    ...items.flatMap((item, at) => itemFaults(item, items[at + 1]).map((fault) => `${at}: ${fault}`)),
    ...repeated(ids).map((id) => `the item ${show(id)} comes twice`),
    ...pairFaults(items),
  ];
}

function itemFaults(item: Json, next: Json | undefined): Faults {
  if (item.type === "reasoning") return reasoningFaults(item, next);
  if (item.type === "function_call") return callFaults(item);
  if (item.type === "function_call_output") return outputFaults(item.output);
  if (item.role === "assistant") return answerFaults(item);
  if (item.role === "system" || item.role === "developer") return isFilled(item.content) ? [] : ["empty instructions"];
  if (item.role !== "user") return [`an item of ${show(item.type)} ${show(item.role)}`];
  const parts = objects(item.content);
  return parts.length === 0 ? ["no content"] : parts.flatMap(inputFaults);
}

function inputFaults(part: Json): Faults {
  if (part.type === "input_text") return isFilled(part.text) ? [] : ["an empty text part"];
  return part.type === "input_image" && isDataUrl(part.image_url) ? [] : ["an image that cannot be read"];
}

function outputFaults(output: unknown): Faults {
  if (isText(output)) return [];
  const parts = objects(output);
  return parts.length === 0 ? ["an output of nothing"] : parts.flatMap(inputFaults);
}

function answerFaults({ content, id, status }: Json): Faults {
  const parts = objects(content);
  return [
    ...unless(isText(id) && /^msg_.{1,60}$/.test(id) && status === "completed", `the message id ${show(id)}`),
    ...unless(parts.length > 0, "an empty answer"),
    ...parts.flatMap((part) => (part.type === "output_text" && isFilled(part.text) ? [] : ["an empty answer part"])),
  ];
}

function reasoningFaults(item: Json, next: Json | undefined): Faults {
  const led = next?.type === "function_call" || next?.type === "reasoning" || next?.role === "assistant";
  return [
    ...unless(isText(item.id) && item.id.startsWith("rs_"), `the reasoning id ${show(item.id)}`),
    ...unless(isBase64(item.encrypted_content), "reasoning without its content"),
    ...unless(Array.isArray(item.summary), "reasoning without its summary"),
    ...unless(led && next?.id !== undefined, "reasoning without the item it led to"),
  ];
}

function callFaults(item: Json): Faults {
  const { id, call_id: callId, name, arguments: given } = item;
  return [
    ...unless(isText(callId) && /^[a-zA-Z0-9_-]{1,64}$/.test(callId), `the call id ${show(callId)}`),
    ...unless(id === undefined || (isText(id) && /^fc_[a-zA-Z0-9_-]{1,61}$/.test(id)), `the item id ${show(id)}`),
    ...unless(isText(name) && /^[a-zA-Z0-9_-]{1,64}$/.test(name), `the function name ${show(name)}`),
    ...unless(isText(given) && isObject(JSON.parse(given)), "arguments that are no object"),
  ];
}

function pairFaults(items: readonly Json[]): Faults {
  const calls = items.flatMap((item) => (item.type === "function_call" ? [item.call_id] : []));
  const outputs = items.flatMap((item) => (item.type === "function_call_output" ? [item.call_id] : []));
  const early = items.filter(
    (item, at) =>
      item.type === "function_call_output" &&
      !items.slice(0, at).some((one) => one.type === "function_call" && one.call_id === item.call_id),
  );
  return [
    ...repeated(calls).map((id) => `the call id ${show(id)} comes twice`),
    ...repeated(outputs).map((id) => `two outputs for ${show(id)}`),
    ...calls.filter((id) => !outputs.includes(id)).map((id) => `no output for ${show(id)}`),
    ...early.map((item) => `an output without its call: ${show(item.call_id)}`),
  ];
}
