import { createInterface, type Interface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { Io } from "./io.ts";

/** Whether a person at a terminal can read a question and type an answer. */
export const canAsk = (io: Io): boolean => io.isErrTerminal && process.stdin.isTTY === true;

/** Reads a line without showing it, so that a key is not in the terminal's scrollback. Ctrl-C ends the process. */
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

/** Reads one line. Rejects when `signal` aborts. */
export async function askLine(question: string, signal?: AbortSignal): Promise<string> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await answerOf(prompt, question, signal);
  } finally {
    prompt.close();
  }
}

/** Whether the answer is a clear yes; anything else is a no. */
export async function confirmed(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await askLine(`${question} [y/N] `)).trim());
}

function answerOf(prompt: Interface, question: string, signal?: AbortSignal): Promise<string> {
  prompt.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  return signal ? prompt.question(question, { signal }) : prompt.question(question);
}
