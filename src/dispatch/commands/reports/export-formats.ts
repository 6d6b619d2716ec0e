import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { timestamp } from "../../../prompt/timestamp.ts";
import type { SessionKey } from "../../../types/ids.ts";
import { Secret } from "../../../utils/secrets/secret.ts";
import { type CommandPorts, shownKey } from "../kit/command.ts";
import { conversationLines, type ConversationLine } from "./conversation.ts";

interface Source {
  /** The path of the transcript. */
  readonly path: string;
  readonly key: SessionKey;
  readonly ports: Pick<CommandPorts, "clock" | "storage" | "settings">;
}

export interface ExportFormat {
  readonly ending: string;
  readonly mime: string;
  /**
   * Set where the file has more than people of the chat see: thoughts, results of tools, and the text that the gateway
   * writes for the model.
   */
  readonly forOwners?: true;
  /** The whole file, with secrets masked. */
  bytesOf(source: Source): Promise<Exported>;
}

interface Exported {
  readonly bytes: Uint8Array;
  /** Number of lines that cannot be read and are left out, without a torn last one. */
  readonly leftOut: number;
}

const whole = (text: string): Exported => ({ bytes: Buffer.from(text), leftOut: 0 });

const FORMAT_TABLE: Readonly<Record<string, ExportFormat>> = {
  md: { ending: "md", mime: "text/markdown", bytesOf: async (source) => whole(await markdownOf(source)) },
  json: { ending: "json", mime: "application/json", bytesOf: async (source) => whole(await jsonOf(source)) },
  jsonl: {
    ending: "jsonl",
    mime: "application/jsonl",
    forOwners: true,
    bytesOf: ({ path }) => linesOf(path),
  },
};

export const FORMATS = Object.keys(FORMAT_TABLE);

/** The format with this name; Markdown when the name is empty, undefined when the name is unknown. */
export function formatOf(name: string): ExportFormat | undefined {
  if (name === "" || name === "markdown") return FORMAT_TABLE["md"];
  return Object.hasOwn(FORMAT_TABLE, name) ? FORMAT_TABLE[name] : undefined;
}

async function saidOf({ key, ports }: Source): Promise<readonly ConversationLine[]> {
  const { entries } = await ports.storage.sessions.history(key, Number.MAX_SAFE_INTEGER);
  return conversationLines(entries);
}

async function markdownOf(source: Source): Promise<string> {
  const { key, ports } = source;
  const settings = ports.settings();
  const id = settings.agentOf(key);
  const agent = settings.agents.get(id);
  const zone = agent?.timezone ?? "UTC";
  const timeOf = (at: number) => timestamp(at, zone).slice(0, 16);
  const parts = (await saidOf(source)).map(({ at, by, name, text }) => {
    if (by === "tool") return `- 🛠️ ${name ?? "tool"}${text === "" ? "" : `: ${text}`}`;
    return `## ${by === "agent" ? (agent?.name ?? id) : (name ?? "Person")}, ${timeOf(at)}\n\n${text}`;
  });
  const title = `# ${ports.storage.sessions.peek(key)?.label ?? shownKey(key, ports)}\n\nExported ${timeOf(ports.clock.now())} (${zone}).`;
  return `${[title, ...parts].join("\n\n")}\n`;
}

async function jsonOf(source: Source): Promise<string> {
  const { key, ports } = source;
  const { sessionId, label } = ports.storage.sessions.peek(key) ?? {};
  const messages = (await saidOf(source)).map(({ at, opens: _opens, ...line }) => ({
    at: new Date(at).toISOString(),
    ...line,
  }));
  const exportedAt = new Date(ports.clock.now()).toISOString();
  return `${JSON.stringify({ sessionKey: shownKey(key, ports), sessionId, label, exportedAt, messages }, undefined, 2)}\n`;
}

/** The lines of the transcript, with secrets masked. A torn last line is left out. */
async function linesOf(path: string): Promise<Exported> {
  const lines: string[] = [];
  let leftOut = 0;
  let isLastTorn = false;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    const masked = maskedLine(line);
    isLastTorn = masked === undefined;
    if (masked === undefined) leftOut += 1;
    else lines.push(`${masked}\n`);
  }
  return { bytes: Buffer.from(lines.join("")), leftOut: isLastTorn ? leftOut - 1 : leftOut };
}

/**
 * The line with secrets masked in each of its texts: JSON may write a secret in another form. Undefined when the line
 * is no JSON.
 */
function maskedLine(line: string): string | undefined {
  try {
    return JSON.stringify(
      JSON.parse(line, (_key, value: unknown) => (typeof value === "string" ? Secret.mask(value) : value)),
    );
  } catch {
    return undefined;
  }
}
