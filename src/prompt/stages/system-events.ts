import { prepend, type BodyStage } from "../draft.ts";
import { isHeartbeatNoise } from "../system-events.ts";
import { timestamp } from "../timestamp.ts";

// How long ago somebody used a node changes with every report and is useless to the model.
function withoutLastInput(text: string): string {
  return text.trimStart().startsWith("Node:") ? text.replaceAll(/ · last input [^·\n]*(?= ·|\n|$)/gi, "") : text;
}

// Every line of an event carries the prefix: a line without it would read as the user's.
function eventLines(event: { at: number; text: string }, timezone: string): string[] {
  const [first, ...rest] = withoutLastInput(event.text)
    .split(/[\n\r\v\f\u0085\u2028\u2029]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (first === undefined) {
    return [];
  }
  return [`System: [${timestamp(event.at, timezone)}] ${first}`, ...rest.map((line) => `System: ${line}`)];
}

/** The gateway's events since the last turn, one line each. */
export const systemEvents: BodyStage = {
  name: "systemEvents",
  source: "the gateway's events",
  apply(draft, context) {
    const lines = context.systemEvents
      .filter((event) => !isHeartbeatNoise(event.text))
      .flatMap((event) => eventLines(event, context.timezone));
    return prepend(draft, lines.join("\n"));
  },
};
