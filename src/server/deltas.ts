import type { GatewayEvent } from "../types/method.ts";

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;

/** An event as JSON without its number, which differs per connection. Made once for all connections. */
export interface EncodedEvent {
  readonly event: GatewayEvent;
  readonly head: string;
  /** Two waiting events with the same key may be merged. */
  readonly mergeKey: string | undefined;
}

export function encodeEvent(event: GatewayEvent): EncodedEvent {
  const payload = JSON.stringify(event.payload ?? {});
  const head = `{"type":"event","event":${JSON.stringify(event.event)},"payload":${payload}`;
  return { event, head, mergeKey: mergeKey(event) };
}

export const frameOf = (encoded: EncodedEvent, seq: number) => `${encoded.head},"seq":${seq}}`;

function mergeKey(event: GatewayEvent): string | undefined {
  if (event.delta !== true || !isFields(event.payload)) return undefined;
  const { runId, stream, data } = event.payload;
  if (typeof runId !== "string") return undefined;
  return JSON.stringify([event.event, runId, stream, isFields(data) ? data["toolCallId"] : undefined]);
}

/** Merges two deltas of one run: the later one, with the text of the earlier before its own. */
export function mergeDeltas(earlier: EncodedEvent, later: EncodedEvent): EncodedEvent {
  const before = earlier.event.payload;
  const after = later.event.payload;
  if (!isFields(before) || !isFields(after)) return later;
  return encodeEvent({ ...later.event, payload: { ...after, ...mergedText(before, after) } });
}

function mergedText(before: Fields, after: Fields): Fields {
  if (after["replace"] === true) return {};
  if (typeof before["deltaText"] === "string" && typeof after["deltaText"] === "string") {
    const replace = before["replace"] === true ? { replace: true } : {};
    return { deltaText: before["deltaText"] + after["deltaText"], ...replace };
  }
  return mergedData(before["data"], after["data"]);
}

function mergedData(before: unknown, after: unknown): Fields {
  if (!isFields(before) || !isFields(after)) return {};
  if (typeof before["delta"] !== "string" || typeof after["delta"] !== "string") return {};
  return { data: { ...after, delta: before["delta"] + after["delta"] } };
}
