import { emptyUsage } from "../../../src/types/run/usage.ts";

/** A transcript that another program, a crash or a person left, and what becomes of it. */
export interface Foreign {
  readonly name: string;
  readonly bytes: Buffer;
  /** The texts that the model sees. */
  readonly shows: readonly string[];
  /** The line of the doctor; `ok` when unset. The path is `FILE`. */
  readonly says?: RegExp;
  /** Bytes at the end that are kept beside the file. */
  readonly cut?: number;
}

const AT = "2026-01-01T00:00:00.000Z";
const HEADER = { type: "session", version: 3, id: "theirs", timestamp: AT, cwd: "/their/place" };
type Line = Readonly<Record<string, unknown>>;

const said = (id: string, parentId: string | null | undefined, content: unknown = id): Line => ({
  type: "message",
  id,
  ...(parentId !== undefined && { parentId }),
  timestamp: AT,
  message: { role: "user", content, timestamp: 1 },
});
const answered = (id: string, parentId: string | null, content: unknown, stopReason = "stop"): Line => ({
  ...said(id, parentId),
  message: {
    role: "assistant",
    content,
    api: "anthropic-messages",
    provider: "anthropic",
    model: "claude",
    usage: emptyUsage(),
    stopReason,
    timestamp: 2,
  },
});
const file = (...lines: readonly (Line | string)[]): Buffer =>
  Buffer.from(lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""));

const CHAIN = [said("a", null), said("b", "a"), said("c", "b"), said("d", "c")];
const ZEROS = Buffer.alloc(5000);
const MIB = 2 ** 20;

export const TRANSCRIPTS: readonly Foreign[] = [
  { name: "in order", bytes: file(HEADER, ...CHAIN), shows: ["a", "b", "c", "d"] },
  {
    name: "with a loop of parents at its beginning",
    bytes: file(HEADER, said("a", "b"), said("b", "a"), said("c", "b"), said("d", "c")),
    shows: ["a", "b", "c", "d"],
    says: /^warn .*FILE.* parents? .*\bb\b/,
  },
  {
    name: "with an entry that is its own parent",
    bytes: file(HEADER, said("a", null), said("b", "a"), said("c", "c"), said("d", "c")),
    shows: ["a", "b", "c", "d"],
    says: /^warn .*FILE.* parents? .*\bc\b/,
  },
  {
    name: "with a second root, which is a conversation begun anew",
    bytes: file(HEADER, said("a", null), said("b", "a"), said("c", null), said("d", "c")),
    shows: ["c", "d"],
  },
  {
    name: "with a parent that is missing",
    bytes: file(HEADER, said("a", null), said("b", "a"), said("c", "gone"), said("d", "c")),
    shows: ["a", "b", "c", "d"],
    says: /^warn .*FILE.* parents? .*\bgone\b/,
  },
  {
    name: "with torn lines in the middle",
    bytes: file(
      HEADER,
      CHAIN[0] ?? "",
      '{"type":"message","id":"b","parentId":"a","mess',
      CHAIN[2] ?? "",
      "{",
      CHAIN[3] ?? "",
    ),
    shows: ["a", "c", "d"],
    says: /^warn .*FILE.* lines 3, 5 /,
  },
  {
    name: "with a torn end",
    bytes: Buffer.concat([file(HEADER, ...CHAIN), Buffer.from('{"type":"message","id":"e","par')]),
    shows: ["a", "b", "c", "d"],
    says: /^warn .*FILE.*torn/,
    cut: '{"type":"message","id":"e","par'.length,
  },
  {
    name: "with an end of zeros, as after a power cut",
    bytes: Buffer.concat([file(HEADER, ...CHAIN), ZEROS]),
    shows: ["a", "b", "c", "d"],
    says: /^warn .*FILE.*torn/,
    cut: ZEROS.length,
  },
  {
    name: "with zeros in the middle",
    bytes: Buffer.concat([file(HEADER, ...CHAIN.slice(0, 2)), ZEROS, file(...CHAIN.slice(2))]),
    shows: ["a", "b", "c", "d"],
    says: /^warn .*FILE.* line 4 /,
  },
  {
    name: "with calls whose arguments were not complete",
    bytes: file(
      HEADER,
      said("a", null),
      answered(
        "b",
        "a",
        [
          { type: "text", text: "I look" },
          { type: "toolCall", id: "t1", name: "read", arguments: {}, partialJson: '{"path": "/e' },
        ],
        "aborted",
      ),
      said("c", "b"),
    ),
    shows: ["a", "I looktoolCall", "c"],
  },
  {
    name: "with entries of a later version",
    bytes: file(
      HEADER,
      said("a", null),
      { type: "hologram", id: "h1", parentId: "a", timestamp: AT, data: { x: 1 } },
      said("b", "h1"),
      { type: "epilogue", text: "no id" },
      said("c", "b"),
    ),
    shows: ["a", "b", "c"],
  },
  { name: "without a header", bytes: file(...CHAIN), shows: ["a", "b", "c", "d"], says: /^warn .*FILE.*header/ },
  {
    name: "with a torn header",
    bytes: file('{"type":"session","versi', ...CHAIN),
    shows: ["a", "b", "c", "d"],
    says: /^warn .*FILE.*header/,
  },
  {
    name: "with the header of another session, and a second one in the middle",
    bytes: file({ ...HEADER, id: "other", sessionKey: "x:y:z" }, ...CHAIN.slice(0, 2), HEADER, ...CHAIN.slice(2)),
    shows: ["a", "b", "c", "d"],
  },
  {
    name: "with a version that is a text",
    bytes: file({ ...HEADER, version: "3" }, ...CHAIN),
    shows: ["a", "b", "c", "d"],
  },
  {
    name: "whose header has lost its version",
    bytes: file({ ...HEADER, version: undefined }, ...CHAIN),
    shows: ["a", "b", "c", "d"],
  },
  {
    name: "with one id twice",
    bytes: file(HEADER, said("a", null), said("b", "a"), said("b", "b", "b again"), said("c", "b")),
    shows: ["a", "b", "b again", "c"],
  },
  {
    name: "with a mark of its byte order and the line ends of Windows",
    bytes: Buffer.from(
      `\uFEFF${file(HEADER, ...CHAIN)
        .toString()
        .replaceAll("\n", "\r\n")}`,
    ),
    shows: ["a", "b", "c", "d"],
  },
  {
    name: "with a mark of its byte order in front of an entry",
    bytes: Buffer.from(`\uFEFF${file(...CHAIN).toString()}`),
    shows: ["a", "b", "c", "d"],
    says: /^warn .*FILE.*header/,
  },
  { name: "empty", bytes: Buffer.alloc(0), shows: [] },
  { name: "with a header only", bytes: file(HEADER), shows: [] },
  {
    name: "with an image of 30 MB",
    bytes: file(
      HEADER,
      said("a", null),
      said("b", "a", [
        { type: "text", text: "look at this" },
        { type: "image", data: "A".repeat(30 * MIB), mimeType: "image/png" },
      ]),
      said("c", "b"),
    ),
    shows: ["a", "look at this[image: its data is missing]", "c"],
    says: /^warn .*FILE.* line 3 .*30\.0 MB/,
  },
  {
    name: "with a text of 30 MB",
    bytes: file(
      HEADER,
      said("a", null),
      said("b", "a", `${"x".repeat(15 * MIB)}\\"${"y".repeat(15 * MIB)}`),
      said("c", "b"),
    ),
    shows: ["a", `${"x".repeat(65_536)}… [29.9 MB are left out]`, "c"],
    says: /^warn .*FILE.* line 3 .*30\.0 MB/,
  },
  {
    name: "with a torn line of 30 MB",
    bytes: file(
      HEADER,
      said("a", null),
      `{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"${"x".repeat(30 * MIB)}`,
      said("c", "b"),
    ),
    shows: ["a", "c"],
    says: /^warn .*FILE.* line 3 /,
  },
];
