import { createInterface, type Interface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { Io } from "./io.ts";

/** Somebody sits there who can read a question and type an answer. */
export const canAsk = (io: Io): boolean => io.isErrTerminal && process.stdin.isTTY === true;

/** What somebody types, unseen: a key must not stay in the terminal's scrollback. Ctrl-C ends the process as everywhere. */
export async function askHidden(question: string): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return await answerOf(prompt, "");
  } finally {
    prompt.close();
    process.stderr.write("\n");
  }
}

/** What somebody types, on one line. `signal` takes the question back; rejects then. */
export async function askLine(question: string, signal?: AbortSignal): Promise<string> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await answerOf(prompt, question, signal);
  } finally {
    prompt.close();
  }
}

/** Anything but a clear yes is a no. */
export async function confirmed(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await askLine(`${question} [y/N] `)).trim());
}

function answerOf(prompt: Interface, question: string, signal?: AbortSignal): Promise<string> {
  prompt.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  return signal ? prompt.question(question, { signal }) : prompt.question(question);
}
