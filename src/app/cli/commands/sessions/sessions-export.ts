import { createReadStream, createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { OpenClawError } from "../../../../types/errors.ts";
import { shownMessage, type ShownMessage } from "../../../../types/session.ts";
import type { Io } from "../../io.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { readState } from "../../state.ts";
import { messageText } from "../message/message-text.ts";
import { findStoredSession } from "./session-files.ts";

export interface ExportFlags {
  readonly format: string;
  readonly output?: string;
}

const lineShape = z.looseObject({ type: z.literal("message"), message: shownMessage });

/**
 * The whole transcript. Read from its file even while a gateway runs: it is only ever appended to. Throws NOT_FOUND, and
 * `USAGE` when the output file is there already.
 */
export async function sessionsExport(io: Io, key: string, { format, output }: ExportFlags): Promise<number> {
  const { file } = await findStoredSession(await readState(io), key);
  const source = format === "markdown" ? Readable.from(markdownOf(file)) : createReadStream(file, "utf8");
  if (output === undefined) for await (const chunk of source) io.out(shown(io, String(chunk)));
  else {
    await writeNew(source, output);
    io.err(`Wrote ${output}.\n`);
  }
  return 0;
}

/** A file or a pipe gets the text unchanged; for a terminal, control sequences are removed. */
const shown = (io: Io, text: string): string => (io.isTerminal ? withoutTerminalControls(text) : text);

async function writeNew(source: Readable, output: string): Promise<void> {
  try {
    await pipeline(source, createWriteStream(output, { flags: "wx", mode: 0o600 }));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    throw new OpenClawError("USAGE", {
      message: `${output} is there already.`,
      fix: "Name a file that is not there yet.",
      cause: error,
    });
  }
}

async function* markdownOf(file: string): AsyncGenerator<string> {
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  for await (const line of lines) {
    const message = parseMessage(line);
    if (message) yield `## ${message.role}\n\n${messageText(message)}\n\n`;
  }
}

function parseMessage(line: string): ShownMessage | undefined {
  try {
    const json: unknown = JSON.parse(line);
    return lineShape.safeParse(json).data?.message;
  } catch {
    // A torn line; the gateway repairs and reports it when it opens the file.
    return undefined;
  }
}
