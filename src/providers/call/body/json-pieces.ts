import { type Fields, isFields, isSameData } from "../../../utils/fields.ts";
import { BoundedMap } from "../../../utils/bounded-map.ts";

/**
 * A piece of a JSON text. A string is written unchanged. `list` is the JSON of a list that is not empty: its elements
 * are written after a comma, or after a bracket with `opens`. Long bytes are not copied.
 */
export type JsonPiece = string | Uint8Array | { readonly list: string; readonly opens?: boolean };

/** Elements of a list, such as messages, that become one text. */
const AT_ONCE = 8;
const COMMA = ",".codePointAt(0) ?? 0;
/** Shorter bytes are copied, because that takes less time than one more piece. */
const LONG_BYTES = 1024;

/** The JSON of an object, as `JSON.stringify` makes it. `before`: messages that go between the system message and the other messages. */
export function piecesOfJson(body: Fields, before: readonly JsonPiece[] = []): readonly JsonPiece[] {
  const pieces: JsonPiece[] = [];
  for (const [key, value] of Object.entries(body)) {
    const text = Array.isArray(value) ? "" : JSON.stringify(value);
    // JSON has no such value.
    if (text === undefined) continue;
    pieces.push(`${pieces.length === 0 ? "{" : ","}${JSON.stringify(key)}:${text}`);
    if (!Array.isArray(value)) continue;
    if (key === "tools") pieces.push(bytesOfTools(value));
    else pieces.push(...piecesOfList(value, key === "messages" ? before : []));
  }
  return [...pieces, pieces.length === 0 ? "{}" : "}"];
}

/** The pieces in UTF-8. Long bytes are the same object; `allocate` makes the buffers of the pieces between them. */
export function encoded(pieces: readonly JsonPiece[], allocate: (length: number) => Buffer): readonly Uint8Array[] {
  const all: Uint8Array[] = [];
  let run: JsonPiece[] = [];
  const end = (): void => {
    if (run.length > 0) all.push(written(run, allocate));
    run = [];
  };
  for (const piece of pieces) {
    if (piece instanceof Uint8Array && piece.length >= LONG_BYTES) {
      end();
      all.push(piece);
    } else run.push(piece);
  }
  end();
  return all;
}

/** The pieces in UTF-8, in memory of their own. */
function written(pieces: readonly JsonPiece[], allocate: (length: number) => Buffer): Uint8Array {
  const length = pieces.reduce((sum, piece) => sum + sizeOf(piece), 0);
  // The last bracket of a list takes one byte more, which the next piece overwrites.
  const bytes = allocate(length + 1);
  let at = 0;
  for (const piece of pieces) at += write(bytes, piece, at);
  return bytes.subarray(0, length);
}

function sizeOf(piece: JsonPiece): number {
  if (typeof piece === "string") return Buffer.byteLength(piece);
  return piece instanceof Uint8Array ? piece.length : Buffer.byteLength(piece.list) - 1;
}

/** Returns how many bytes the piece has. */
function write(bytes: Buffer, piece: JsonPiece, at: number): number {
  if (typeof piece === "string") return bytes.write(piece, at);
  if (piece instanceof Uint8Array) {
    bytes.set(piece, at);
    return piece.length;
  }
  const length = bytes.write(piece.list, at);
  if (!piece.opens) bytes[at] = COMMA;
  return length - 1;
}

function piecesOfList(list: readonly unknown[], before: readonly JsonPiece[]): readonly JsonPiece[] {
  const first = list.slice(0, isSystem(list[0]) ? 1 : 0);
  const pieces: JsonPiece[] = first.map((message) => systemPiece(message) ?? { list: JSON.stringify([message]) });
  const rest = list.slice(first.length);
  pieces.push(...before);
  for (let at = 0; at < rest.length; at += AT_ONCE) pieces.push({ list: JSON.stringify(rest.slice(at, at + AT_ONCE)) });
  const [opening, ...others] = pieces;
  return opening === undefined ? ["[]"] : [...withBracket(opening), ...others, "]"];
}

/** A first piece of a list with a bracket instead of its comma. */
function withBracket(piece: JsonPiece): readonly JsonPiece[] {
  if (typeof piece === "string") return ["[", piece.slice(1)];
  return piece instanceof Uint8Array ? ["[", piece.subarray(1)] : [{ ...piece, opens: true }];
}

/** Whether a message in the form of the API is the system message. */
export const isSystem = (message: unknown): boolean =>
  isFields(message) && (message["role"] === "system" || message["role"] === "developer");

/** Characters; a shorter system prompt is converted as fast as it is found. */
const LONG_SYSTEM = 1000;
/** Characters; a longer system prompt is not kept: 64 of them would take too much memory. */
const LONGEST_SYSTEM = 128 * 1024;
const MOST_SYSTEMS = 64;
/** The system messages sent last, by their role and text: most requests of a conversation have the same. */
const systems = new Map<string, BoundedMap<string, Uint8Array>>();

/** A comma and the JSON of a system message; undefined where the message is another one, short, or very long. */
function systemPiece(message: unknown): Uint8Array | undefined {
  if (!isFields(message)) return undefined;
  const { role, content, ...more } = message;
  if (typeof role !== "string" || Object.keys(more).length > 0) return undefined;
  if (typeof content !== "string" || content.length < LONG_SYSTEM || content.length > LONGEST_SYSTEM) return undefined;
  const known = systems.get(role) ?? new BoundedMap<string, Uint8Array>(MOST_SYSTEMS);
  systems.set(role, known);
  return known.of(content, () => Buffer.from(`,${JSON.stringify(message)}`));
}

interface ToolList {
  readonly tools: readonly unknown[];
  readonly bytes: Uint8Array;
}

const MOST_LISTS = 16;
/** The lists of tools sent last, the newest first: agents have the same tools from request to request. */
let lists: readonly ToolList[] = [];

/** Most of a list's tools have the same schema object each time, so that comparing takes less time than JSON. */
function bytesOfTools(tools: readonly unknown[]): Uint8Array {
  const known = lists.find((list) => isSameData(list.tools, tools));
  if (known && known === lists[0]) return known.bytes;
  const { bytes } = known ?? { bytes: Buffer.from(JSON.stringify(tools)) };
  lists = [{ tools, bytes }, ...lists.filter((list) => list !== known)].slice(0, MOST_LISTS);
  return bytes;
}
