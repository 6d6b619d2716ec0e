import {
  type Faults,
  isBase64,
  isFilled,
  isObject,
  isText,
  type Json,
  objects,
  wholeStrings,
  show,
  unless,
} from "./rules.ts";

/**
 * The rules of generateContent: user first, no two model turns in a row, a turn of calls right behind a user's turn and
 * followed by one turn with as many responses of the same names.
 */
export function geminiFaults(request: Json): Faults {
  const contents = objects(request.contents);
  return [
    ...wholeStrings(request),
    ...unless(contents[0]?.role === "user", "the first turn is not a user's"),
    ...unless(contents.at(-1)?.role === "user", "the last turn is not a user's"),
    ...contents.flatMap((turn, at) =>
      turnFaults(turn, contents[at - 1], contents[at + 1]).map((fault) => `${at}: ${fault}`),
    ),
  ];
}

/** From Gemini 3 on the first call of an answer has to be signed too. */
export function gemini3Faults(request: Json): Faults {
  const firsts = objects(request.contents).flatMap((turn) => objects(turn.parts).find(isCall) ?? []);
  return [
    ...geminiFaults(request),
    ...firsts.flatMap((part) => unless(isBase64(part.thoughtSignature), "a first call without a signature")),
  ];
}

const isCall = (part: Json): boolean => isObject(part.functionCall);

const namesOf = (turn: Json | undefined, kind: "functionCall" | "functionResponse"): unknown[] =>
  objects(turn?.parts).flatMap((part) => {
    const made = part[kind];
    return isObject(made) ? [made.name] : [];
  });

function turnFaults(turn: Json, before: Json | undefined, after: Json | undefined): Faults {
  const parts = objects(turn.parts);
  if (parts.length === 0) return ["no parts"];
  const responses = namesOf(turn, "functionResponse");
  const calls = namesOf(turn, "functionCall");
  const asked = namesOf(before, "functionCall");
  if (turn.role === "model")
    return [
      ...(before?.role === "model" ? ["two model turns in a row"] : []),
      ...(responses.length > 0 ? ["a response from the model"] : []),
      ...(calls.length > 0 && namesOf(after, "functionResponse").length === 0 ? ["calls without responses"] : []),
      ...parts.flatMap(modelPart),
    ];
  if (turn.role !== "user") return [`a turn of ${show(turn.role)}`];
  return [
    ...(calls.length > 0 ? ["a call from the user"] : []),
    ...unless(responses.join() === asked.join(), `responses ${responses.join()} to calls ${asked.join()}`),
    ...(responses.length > 0 && responses.length < parts.length ? ["responses and other parts in one turn"] : []),
    ...parts.flatMap(userPart),
  ];
}

function modelPart(part: Json): Faults {
  const signed = part.thoughtSignature === undefined || isBase64(part.thoughtSignature);
  const signature = signed ? [] : ["a signature that is not base64"];
  if (isObject(part.functionCall)) {
    const { name, args } = part.functionCall;
    const named = isText(name) && /^[a-zA-Z_][\w.:-]{0,63}$/.test(name);
    return [...signature, ...(named ? [] : [`the function name ${show(name)}`]), ...(isObject(args) ? [] : ["args"])];
  }
  return [...signature, ...(isFilled(part.text) ? [] : ["an empty part"])];
}

function userPart(part: Json): Faults {
  if (isObject(part.functionResponse)) return isObject(part.functionResponse.response) ? [] : ["a response of nothing"];
  if (isObject(part.inlineData)) {
    const { mimeType, data } = part.inlineData;
    return isText(mimeType) && mimeType.startsWith("image/") && isBase64(data) ? [] : ["an image that cannot be read"];
  }
  return isFilled(part.text) ? [] : ["an empty part"];
}
