import type { RunEvent } from "../../types/run/events.ts";
import type { ModelRef } from "../../types/run/model.ts";
import type { AgentSettings } from "../../types/settings.ts";

/** Means the agent's name in brackets. */
const AUTO = "auto";
const NAMES = /(\{[a-z][a-z0-9.]*\})/i;
/** The signs behind a model's name that only tell its release. */
const RELEASE = /-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/;
/** A first line that means something else when words stand before it. */
const BLOCK =
  /^(?: {4}|\t| {0,3}(?:`{3}|~{3}|#{1,6}(?:\s|$)|>|[-*+](?:\s|$)|\d{1,9}[.)](?:\s|$)|\||\[[^\]]+\]:|([-*_])[ \t]*(?:\1[ \t]*){2,}$))/;
/** A second line that makes a heading or a table of the first. */
const RULE = /^ {0,3}(?:=+|[|: -]*-[|: -]*)[ \t]*$/;
/** Marks that are not there any more in the plain text of a message. */
const MARKS = /\\[*|\\]|[_~`]/g;

type Who = Pick<AgentSettings, "identityName" | "model">;

/** The text before an answer, where names in braces stand for who answers. */
export class ResponsePrefix {
  readonly #template: string;
  readonly #who: Who;
  #model: ModelRef | undefined;
  #thinking: string | undefined;

  constructor(template: string | undefined, who: Who) {
    const name = who.identityName === undefined ? "" : "[{identity.name}]";
    this.#template = (template?.trim() === AUTO ? name : template) ?? "";
    this.#who = who;
  }

  /** Learns from a run who answers. */
  note(event: RunEvent): void {
    if (event.type === "model_change") this.#model = event.to;
    if (event.type === "attempt_start") {
      this.#model = event.model;
      this.#thinking = event.thinking;
    }
    if (event.type !== "message_end" || event.message.provider === "openclaw") return;
    // An answer that an earlier boot has written down.
    this.#model ??= { provider: event.message.provider, id: event.message.model };
  }

  /** The text with the prefix: in its first line, or in a paragraph of its own where that would break what follows. */
  before(text: string): string {
    const prefix = this.#template
      .split(NAMES)
      .map((part) => this.#valueOf(part) ?? part)
      .join("");
    if (prefix.trim() === "" || text.trim() === "") return text;
    const said = text.replace(/^(?:[ \t]*\n)+/, "");
    const [first = "", second = ""] = said.split("\n", 2);
    if (BLOCK.test(first) || RULE.test(second)) return `${prefix.trimEnd()}\n\n${said}`;
    return /\s$/.test(prefix) ? prefix + said : `${prefix} ${said}`;
  }

  /** What stands behind the prefix in a message of an earlier boot, in which another model may have answered. */
  without(shown: string): string {
    const template = this.#template.trim();
    if (template === "") return shown;
    const pattern = template
      .split(NAMES)
      .map((part) => this.#patternOf(part))
      .join("");
    return shown.replace(new RegExp(`^\\s*${pattern}(?:\\s+|$)`, "u"), "");
  }

  #patternOf(part: string): string {
    const isOpen = this.#isName(part) && nameIn(part) !== IDENTITY;
    return isOpen ? "\\S+?" : literal(this.#valueOf(part) ?? part);
  }

  #isName(part: string): boolean {
    return nameIn(part) in this.#values();
  }

  /** Undefined for words, and for names that mean nothing or are not known yet. */
  #valueOf(part: string): string | undefined {
    return this.#isName(part) ? this.#values()[nameIn(part)] : undefined;
  }

  #values(): Readonly<Record<string, string | undefined>> {
    const model = this.#model ?? this.#who.model.primary;
    return {
      "{model}": model && shortName(model),
      "{modelfull}": model && `${model.provider}/${model.id}`,
      "{provider}": model?.provider,
      "{thinkinglevel}": this.#thinking,
      "{think}": this.#thinking,
      [IDENTITY]: this.#who.identityName,
    };
  }
}

const IDENTITY = "{identity.name}";

const nameIn = (part: string): string => part.toLowerCase().replace("{identityname}", IDENTITY);

const shortName = ({ id }: ModelRef): string => id.slice(id.lastIndexOf("/") + 1).replace(RELEASE, "");

/** A pattern for these words as a chat shows them. */
const literal = (text: string): string =>
  text
    .replace(/[$()*+.?[\\\]^{|}]/g, "\\$&")
    .replace(MARKS, "(?:$&)?")
    .replace(/\s+/g, "\\s+");
