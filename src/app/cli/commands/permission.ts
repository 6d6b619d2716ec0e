import { createInterface } from "node:readline/promises";
import { z } from "zod";
import { approvalAnswers, type PersonsAnswer, shownApproval } from "../../../types/answers/approvals.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { canAsk } from "../ask.ts";
import type { GatewayClient } from "../client.ts";
import type { Io } from "../io.ts";
import { withoutTerminalControls } from "../terminal-text.ts";
import type { Printer } from "./printer.ts";

const endShape = z.looseObject({ id: z.string() });

/** Asks the person at the terminal the approvals of one run. */
export class Permissions {
  readonly #io: Io;
  readonly #client: GatewayClient;
  readonly #printer: Printer;
  readonly #asking = new Map<string, AbortController>();

  constructor(io: Io, client: GatewayClient, printer: Printer) {
    this.#io = io;
    this.#client = client;
    this.#printer = printer;
  }

  /** `payload` of `exec.approval.requested`; those of other runs are ignored. */
  asked(payload: unknown, runId: string): void {
    const approval = shownApproval.safeParse(payload).data;
    if (approval?.request.runId !== runId) return;
    const { id, request } = approval;
    const command = withoutTerminalControls(request.command);
    if (canAsk(this.#io)) {
      const paths = request.files.map(({ path }) => withoutTerminalControls(path));
      const variables = request.variables.map(withoutTerminalControls);
      this.#prompt(id, {
        command,
        paths,
        variables,
        answers: request.allowedDecisions,
      }).catch((error: unknown) => this.#tell(error));
      return;
    }
    this.#printer.note(`Waits for permission to run: ${command}`);
    this.#printer.note(`Answer: openclaw agent -m "/approve ${id} once" (or always, or deny)`);
  }

  /** `payload` of `exec.approval.resolved`: somebody answered, here or elsewhere. */
  answered(payload: unknown): void {
    const id = endShape.safeParse(payload).data?.id;
    if (id !== undefined) this.#asking.get(id)?.abort();
  }

  async #prompt(id: string, asked: ShownCommand): Promise<void> {
    this.#printer.stop();
    const abort = new AbortController();
    this.#asking.set(id, abort);
    try {
      const decision = await askAtTerminal(asked, abort.signal);
      await this.#client.call("exec.approval.resolve", { id, decision }, approvalAnswers.resolve);
    } finally {
      this.#asking.delete(id);
    }
  }

  #tell(error: unknown): void {
    const isElsewhere = error instanceof Error && error.name === "AbortError";
    const reason = errorText(error);
    this.#printer.note(isElsewhere ? "\nAnswered elsewhere." : `Not answered: ${reason}`);
  }
}

/** A command in the form in which the terminal shows it; all texts are cleaned. */
export interface ShownCommand {
  readonly command: string;
  /** Files; the approval is valid only while their content is unchanged. */
  readonly paths: readonly string[];
  /** Names of variables that plugins set for the command. */
  readonly variables: readonly string[];
  /** The answers that the question offers. */
  readonly answers: readonly string[];
}

/** Whether the answer is a clear yes; anything else is a no. Rejects when `signal` aborts. */
export async function askAtTerminal(
  { command, paths, variables, answers }: ShownCommand,
  signal: AbortSignal,
): Promise<PersonsAnswer> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  prompt.on("SIGINT", () => process.emit("SIGINT"));
  try {
    const files = paths.length === 0 ? "" : `Only with these files as they are now: ${paths.join(", ")}\n`;
    const set = variables.length === 0 ? "" : `Plugins set these variables for it: ${variables.join(", ")}\n`;
    const words = [
      ...(answers.includes("allow-once") ? ["[o]nce"] : []),
      ...(answers.includes("allow-always") ? ["[a]lways"] : []),
      "[N]o",
    ].join(", ");
    return decisionOf(await prompt.question(`May it run this?\n  ${command}\n${files}${set}${words}: `, { signal }));
  } finally {
    prompt.close();
  }
}

function decisionOf(text: string): PersonsAnswer {
  const word = text.trim().toLowerCase();
  if (word === "o" || word === "once" || word === "y" || word === "yes") return "allow-once";
  return word === "a" || word === "always" ? "allow-always" : "deny";
}
