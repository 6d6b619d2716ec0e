import type { RunEvent } from "../../types/run/events.ts";
import type { ModelRef } from "../../types/run/model.ts";
import type { AgentSettings } from "../../types/settings.ts";

/** The setting that means the agent's name in brackets. */
const AUTO = "auto";
const NAMES = /(\{[a-z][a-z0-9.]*\})/i;
/** The end of a model's name that only states its release. */
const RELEASE = /-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/;
/** A first line that loses its meaning when text is put before it. */
const BLOCK =
  /^(?: {4}|\t| {0,3}(?:`{3}|~{3}|#{1,6}(?:\s|$)|>|[-*+](?:\s|$)|\d{1,9}[.)](?:\s|$)|\||\[[^\]]+\]:|([-*_])[ \t]*(?:\1[ \t]*){2,}$))/;
/** A second line that turns the first into a heading or a table. */
const RULE = /^ {0,3}(?:=+|[|: -]*-[|: -]*)[ \t]*$/;
/** Marks that the plain text of a message no longer has. */
const MARKS = /\\[*|\\]|[_~`]/g;

type Who = Pick<AgentSettings, "identityName" | "model">;

/** The text before an answer. Names in braces are replaced by the model, provider and so on. */
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

  /** Notes, from a run's events, which model answers. */
  note(event: RunEvent): void {
    if (event.type === "model_change") this.#model = event.to;
    if (event.type === "attempt_start") {
      this.#model = event.model;
      this.#thinking = event.thinking;
    }
    if (event.type !== "message_end" || event.message.provider === "openclaw") return;
    // An answer that was recorded before a restart.
    this.#model ??= { provider: event.message.provider, id: event.message.model };
  }

  /**
   * The text with the prefix on its first line, or in a paragraph of its own where the prefix would change the meaning
   * of the first line.
   */
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

  /** A message from before a restart without its prefix, which may name another model. */
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

  /** The value of a name. Undefined for plain text, and for names that are unknown or have no value yet. */
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

/** A pattern that matches this text in the form that a chat shows. */
const literal = (text: string): string =>
  text
    .replace(/[$()*+.?[\\\]^{|}]/g, "\\$&")
    .replace(MARKS, "(?:$&)?")
    .replace(/\s+/g, "\\s+");
