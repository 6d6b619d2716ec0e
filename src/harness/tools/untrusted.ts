import type { Tool, ToolContext } from "../../types/run/tool.ts";
import {
  RISKY_USES,
  sourcesText,
  type Risk,
  type RiskyUse,
  type UntrustedKeeping,
  type UntrustedMark,
  type UntrustedSource,
} from "../../types/run/untrusted.ts";
import type { InputProvenance } from "../../types/run/model.ts";
import { isUnasked, UNASKED_TEXTS } from "../../types/run/unasked.ts";
import { isFields } from "../../utils/fields.ts";
import type { Conversation } from "../request.ts";
import { loadOnce } from "../../utils/share-calls.ts";
import { BLANKS, IGNORABLE, NO_LETTERS } from "../../utils/text/unicode.ts";

/**
 * Tools whose results are the content of files and commands; the tools of memory, which plugins add, read files too.
 */
const READERS = new Set(["read", "grep", "find", "ls", "exec", "process", "memory_get", "memory_search"]);
/** The source of the text of a turn that another program asked for; see `HOOK_TURN`. */
const WEBHOOK = "webhook";
/** The most sources that are named; a conversation may have more. */
const MOST_SOURCES = 10;
/** Tokens for which a conversation is searched back; no model sees more of it. */
const SEARCHED_TOKENS = 2_000_000;

interface Seen {
  readonly details?: unknown;
  readonly isError?: boolean;
}

/**
 * The content that a conversation has read and that nobody here wrote: results that their tool marks as
 * `externalContent.untrusted`.
 */
export class UntrustedContent {
  readonly #sources = new Map<string, UntrustedSource>();
  readonly #conversation: () => Pick<Conversation, "window">;
  /** Searches the conversation. */
  readonly #loaded = loadOnce(() => this.#load());
  readonly #keeping: (() => UntrustedKeeping | undefined) | undefined;
  #hasReadFiles = false;
  /** The mark that was kept last, as JSON. */
  #kept = "";

  /** The conversation is searched once, when it is needed. */
  constructor(conversation: () => Pick<Conversation, "window">, keeping?: () => UntrustedKeeping | undefined) {
    this.#conversation = conversation;
    this.#keeping = keeping;
  }

  /**
   * Takes a finished call of this run. Rejects when the conversation cannot keep that the call's result is untrusted.
   */
  async took(tool: string, seen: Seen): Promise<void> {
    this.#note(tool, seen);
    await this.#keep();
  }

  /** Takes the turn of this run. Rejects like `took`. */
  async began(provenance: InputProvenance | undefined): Promise<void> {
    if (provenance?.sourceTool === WEBHOOK) this.#add(WEBHOOK, WEBHOOK);
    await this.#keep();
  }

  /** Keeps the mark, before a summary can take the place of the content: no model sees where the summary comes from. */
  async #keep(): Promise<void> {
    const keeping = this.#keeping?.();
    if (!keeping || this.#sources.size === 0) return;
    const sources = await this.all();
    const mark = { sources, hasReadFiles: this.#hasReadFiles };
    const written = JSON.stringify(mark);
    if (written === this.#kept) return;
    await keeping.keep(mark);
    this.#kept = written;
  }

  #note(tool: string, { details, isError }: Seen): void {
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
    await this.#loaded();
    return this.sources;
  }

  #recall(known: UntrustedMark | undefined): void {
    if (!known) return;
    if (known.hasReadFiles) this.#hasReadFiles = true;
    for (const { tool, source } of known.sources) this.#add(tool, source);
  }

  async #load(): Promise<void> {
    this.#recall(this.#keeping?.()?.known());
    const { messages } = await this.#conversation().window(SEARCHED_TOKENS);
    for (const { message } of messages) {
      if (message.role === "toolResult") this.#note(message.toolName, message);
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
  /** The uses that a person has to allow once the conversation has read such content. */
  readonly confirm: readonly RiskyUse[] | undefined;
}

/**
 * The sources, for the questions about commands, which have their own rules. Undefined where commands are not to be
 * asked about.
 */
export const sourcesForCommands = ({ content, confirm = RISKY_USES }: UntrustedRules) =>
  confirm.includes("commands") ? () => content.all() : undefined;

/**
 * Asks a person about a risky call where the conversation has read untrusted content. Resolves with why the call must
 * not run; undefined when it may.
 */
export async function whyUnconfirmed(
  tool: Tool,
  params: unknown,
  context: ToolContext,
  { content, confirm = RISKY_USES }: UntrustedRules,
): Promise<string | undefined> {
  if (!tool.riskOf || confirm.length === 0) return undefined;
  const sources = await content.all();
  if (sources.length === 0) return undefined;
  // A use of the network counts only when files were read: otherwise there is nothing to carry out.
  const counts = ({ use }: Risk) => confirm.includes(use) && (use !== "network" || content.hasReadFiles);
  const risks = [(await tool.riskOf(params, context)) ?? []].flat().filter(counts);
  if (risks.length === 0) return undefined;
  const what = visible(risks.map((risk) => risk.what).join(" and "));
  const reason = `The conversation has read untrusted content (${sourcesText(sources)}), and the call ${what}.`;
  const { approvals, workspace: cwd, signal } = context;
  const answer = await approvals.ask({ command: shownCall(tool.name, params), cwd, reason }, signal);
  if (answer === "allow-once" || answer === "allow-always") return undefined;
  const nobody = isUnasked(answer) ? `nobody can be asked about it: ${UNASKED_TEXTS[answer]}` : "nobody allowed it";
  return `${nobody} (tools.untrusted.confirm). ${reason}`;
}

// Characters that a screen does not show, shows elsewhere or draws over others, and runs of blanks that push text out
// of sight.
const UNSEEN = new RegExp(String.raw`[[${IGNORABLE}${NO_LETTERS}${BLANKS}]--[ ]]| {12,}`, "gv");

const escaped = (text: string): string =>
  text.replaceAll(/./gs, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** A text for a person who decides by it: characters that they could not see are written as escapes. Pure. */
const visible = (text: string): string => text.replaceAll(UNSEEN, escaped);

/** A call with its arguments, for a person who decides about it. Pure. */
export const shownCall = (name: string, params: unknown): string => visible(`${name} ${JSON.stringify(params)}`);
