import type { GatewayEvent } from "../../types/method.ts";

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;

/** An event as text but for its number, which is each connection's own: made once for all of them. */
export interface EncodedEvent {
  readonly event: GatewayEvent;
  readonly head: string;
  /** Two waiting events of one key may become one. */
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

/** The later of two deltas of one run, with what the earlier one added put before its own addition. */
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
