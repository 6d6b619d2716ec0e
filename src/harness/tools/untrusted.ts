import type { Tool, ToolContext } from "../../types/run/tool.ts";
import { RISKY_USES, sourcesText, type Risk, type RiskyUse, type UntrustedSource } from "../../types/run/untrusted.ts";
import { isUnasked, UNASKED_TEXTS } from "../../types/run/unasked.ts";
import { isFields } from "../../utils/fields.ts";
import type { Conversation } from "../request.ts";
import { shownCall, visible } from "./shown-call.ts";

/** Tools whose results are the content of files and commands; those of memory, which plugins add, read files too. */
const READERS = new Set(["read", "grep", "find", "ls", "exec", "process", "memory_get", "memory_search"]);
/** Where the text of a turn comes from that another program asked for; see `HOOK_TURN`. */
const WEBHOOK = "webhook";
/** Sources that are named; a conversation may have more. */
const MOST_SOURCES = 10;
/** How far back a conversation is searched; no model sees more of it. */
const SEARCHED_TOKENS = 2_000_000;

interface Seen {
  readonly details?: unknown;
  readonly isError?: boolean;
}

/** What a conversation has read that nobody here wrote: results that their tool marks as `externalContent.untrusted`. */
export class UntrustedContent {
  readonly #sources = new Map<string, UntrustedSource>();
  readonly #conversation: () => Pick<Conversation, "window">;
  #loading: Promise<void> | undefined;
  #hasReadFiles = false;

  /** The conversation is searched once, when it is needed. */
  constructor(conversation: () => Pick<Conversation, "window">) {
    this.#conversation = conversation;
  }

  /** A finished call of this run. */
  took(tool: string, { details, isError }: Seen): void {
    if (READERS.has(tool) && isError !== true) this.#hasReadFiles = true;
    const source = sourceIn(tool, details);
    if (source) this.#add(tool, source.source);
  }

  #add(tool: string, source: string): void {
    if (this.#sources.size < MOST_SOURCES) this.#sources.set(`${tool} ${source}`, { tool, source });
  }

  /** The sources of this run so far. */
  get sources(): readonly UntrustedSource[] {
    return [...this.#sources.values()];
  }

  get hasReadFiles(): boolean {
    return this.#hasReadFiles;
  }

  /** The sources of the whole conversation, as far as models still see it. */
  async all(): Promise<readonly UntrustedSource[]> {
    this.#loading ??= this.#load();
    await this.#loading;
    return this.sources;
  }

  async #load(): Promise<void> {
    const { messages } = await this.#conversation().window(SEARCHED_TOKENS);
    for (const { message } of messages) {
      if (message.role === "toolResult") this.took(message.toolName, message);
      else if (message.role === "user" && message.provenance?.sourceTool === WEBHOOK) this.#add(WEBHOOK, WEBHOOK);
    }
  }
}

function sourceIn(tool: string, details: unknown): UntrustedSource | undefined {
  const external = isFields(details) ? details["externalContent"] : undefined;
  if (!isFields(external) || external["untrusted"] !== true) return undefined;
  const { provider, source } = external;
  const from = [provider, source].find((name) => typeof name === "string" && name !== "");
  return { tool, source: typeof from === "string" ? from : tool };
}

/** The part of a run's tools that concerns untrusted content. */
export interface UntrustedRules {
  readonly content: UntrustedContent;
  /** What a person has to allow once the conversation has read such content. */
  readonly confirm: readonly RiskyUse[] | undefined;
}

/** The sources, for commands: they are asked about by their own rules. Undefined where they are not to be. */
export const sourcesForCommands = ({ content, confirm = RISKY_USES }: UntrustedRules) =>
  confirm.includes("commands") ? () => content.all() : undefined;

/** Asks a person about a risky call where the conversation has read untrusted content. Gives why the call must not run. */
export async function whyUnconfirmed(
  { name, riskOf }: Tool,
  params: unknown,
  context: ToolContext,
  { content, confirm = RISKY_USES }: UntrustedRules,
): Promise<string | undefined> {
  if (!riskOf || confirm.length === 0) return undefined;
  const sources = await content.all();
  if (sources.length === 0) return undefined;
  // Without anything that was read from files there is nothing to carry out.
  const counts = ({ use }: Risk) => confirm.includes(use) && (use !== "network" || content.hasReadFiles);
  const risks = [(await riskOf(params, context)) ?? []].flat().filter(counts);
  if (risks.length === 0) return undefined;
  const what = visible(risks.map((risk) => risk.what).join(" and "));
  const reason = `The conversation has read untrusted content (${sourcesText(sources)}), and the call ${what}.`;
  const { approvals, workspace: cwd, signal } = context;
  const answer = await approvals.ask({ command: shownCall(name, params), cwd, reason }, signal);
  if (answer === "allow-once" || answer === "allow-always") return undefined;
  const nobody = isUnasked(answer) ? `nobody can be asked about it: ${UNASKED_TEXTS[answer]}` : "nobody allowed it";
  return `${nobody} (tools.untrusted.confirm). ${reason}`;
}
