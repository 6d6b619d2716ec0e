import { createInterface, type Interface } from "node:readline/promises";
import { Writable } from "node:stream";
import { OpenClawError } from "../../../types/errors.ts";
import { canAsk } from "./permission.ts";

export { canAsk };

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

function answerOf(prompt: Interface, question: string, signal?: AbortSignal): Promise<string> {
  prompt.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  return signal ? prompt.question(question, { signal }) : prompt.question(question);
}

export const nobodyToAsk = (why: string): OpenClawError =>
  new OpenClawError("USAGE", {
    message: `${why} There is nobody to ask here.`,
    fix: "Run it in a terminal, or pipe a token into: openclaw models auth paste-token --provider <id>",
  });
