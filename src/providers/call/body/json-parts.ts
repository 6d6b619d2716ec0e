import { type Fields, isFields, isSameData } from "../../../utils/fields.ts";
import { BoundedMap } from "../../../utils/bounded-map.ts";

/** A part of a JSON text. An array is a list in pieces, each of which is the JSON of a list. */
type Part = string | readonly Piece[];
export type Piece = string | Uint8Array;

/** Elements of a list, such as messages, that become one text. */
const AT_ONCE = 8;
const COMMA = ",".codePointAt(0) ?? 0;

/** The JSON of an object, as `JSON.stringify` makes it, in parts. `before`: lists of messages that go between the system message and the other messages. */
export function partsOf(body: Fields, before: readonly Piece[] = []): readonly Part[] {
  const parts: Part[] = [];
  for (const [key, value] of Object.entries(body)) {
    const text = Array.isArray(value) ? "" : JSON.stringify(value);
    // JSON has no such value.
    if (text === undefined) continue;
    parts.push(`${parts.length === 0 ? "{" : ","}${JSON.stringify(key)}:${text}`);
    if (Array.isArray(value))
      parts.push(key === "tools" ? piecesOfTools(value) : piecesOfList(value, key === "messages" ? before : []));
  }
  return [...parts, parts.length === 0 ? "{}" : "}"];
}

/** The parts in UTF-8, in memory of their own. */
export function joined(parts: readonly Part[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + sizeOf(part), 0));
  let at = 0;
  for (const part of parts) at = typeof part === "string" ? at + bytes.write(part, at) : writeList(bytes, part, at);
  return bytes;
}

const sizeOf = (part: Part): number =>
  typeof part === "string"
    ? Buffer.byteLength(part)
    : part.reduce((sum, piece) => sum + sizeOfPiece(piece), 1 - part.length);

const sizeOfPiece = (piece: Piece): number => (typeof piece === "string" ? Buffer.byteLength(piece) : piece.length);

/** Each piece begins where the one before it has its last bracket, and a comma takes the place of both. Returns where the list ends. */
function writeList(bytes: Buffer, pieces: readonly Piece[], start: number): number {
  let at = start;
  for (const [index, piece] of pieces.entries()) {
    const begin = index === 0 ? at : at - 1;
    at = begin + write(bytes, piece, begin);
    if (index > 0) bytes[begin] = COMMA;
  }
  return at;
}

function write(bytes: Buffer, piece: Piece, at: number): number {
  if (typeof piece === "string") return bytes.write(piece, at);
  bytes.set(piece, at);
  return piece.length;
}

function piecesOfList(list: readonly unknown[], before: readonly Piece[]): readonly Piece[] {
  const first = list.slice(0, isSystem(list[0]) ? 1 : 0);
  const pieces: Piece[] = first.map((message) => systemPiece(message) ?? JSON.stringify([message]));
  const rest = list.slice(first.length);
  pieces.push(...before);
  for (let at = 0; at < rest.length; at += AT_ONCE) pieces.push(JSON.stringify(rest.slice(at, at + AT_ONCE)));
  return pieces.length === 0 ? ["[]"] : pieces;
}

/** Whether a message in the form of the API is the system message. */
export const isSystem = (message: unknown): boolean =>
  isFields(message) && (message["role"] === "system" || message["role"] === "developer");

/** Shorter ones are made as fast as they are found. */
const LONG_SYSTEM = 1000;
const MOST_SYSTEMS = 64;
/** The system messages sent last, by their role and text: most requests of a conversation have the same. */
const systems = new Map<string, BoundedMap<string, Uint8Array>>();

/** The JSON of a list of one system message; undefined where the message is another one, or short. */
function systemPiece(message: unknown): Uint8Array | undefined {
  if (!isFields(message)) return undefined;
  const { role, content, ...more } = message;
  if (typeof role !== "string" || Object.keys(more).length > 0) return undefined;
  if (typeof content !== "string" || content.length < LONG_SYSTEM) return undefined;
  const known = systems.get(role) ?? new BoundedMap<string, Uint8Array>(MOST_SYSTEMS);
  systems.set(role, known);
  return known.of(content, () => Buffer.from(JSON.stringify([message])));
}

interface ToolList {
  readonly tools: readonly unknown[];
  readonly bytes: Uint8Array;
}

const MOST_LISTS = 16;
/** The lists of tools sent last, the newest first: agents have the same tools from request to request. */
let lists: readonly ToolList[] = [];

/** Most of a list's tools have the same schema object each time, so that comparing takes less time than JSON. */
function piecesOfTools(tools: readonly unknown[]): readonly Piece[] {
  const known = lists.find((list) => isSameData(list.tools, tools));
  if (known && known === lists[0]) return [known.bytes];
  const { bytes } = known ?? { bytes: Buffer.from(JSON.stringify(tools)) };
  lists = [{ tools, bytes }, ...lists.filter((list) => list !== known)].slice(0, MOST_LISTS);
  return [bytes];
}
