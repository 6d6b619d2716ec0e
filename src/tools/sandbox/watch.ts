import { relative } from "node:path";
import { errorText } from "../../utils/text/error-text.ts";
import { isHarmless } from "../host/repository/git-settings.ts";
import { setAside } from "./set-aside.ts";
import { surveyOf, type Obeyed, type Survey } from "./survey.ts";
import { GUARDED } from "../host/guarded.ts";

/** Milliseconds between two looks at what a command that still runs has made. */
const EVERY_MS = 10_000;
const MOST_NAMED = 10;

/** Tells the operator. */
export type Warn = (message: string, facts: Readonly<Record<string, unknown>>) => void;

/**
 * Looks after the directories that a sandboxed command may write: what it makes there that programs outside would obey (Git's settings
 * and hooks in any repository, and shells' and editors' files at the top) is moved aside at its end, and meanwhile.
 */
export class Watch {
  readonly #roots: readonly string[];
  readonly #before: ReadonlyMap<string, Obeyed>;
  readonly #warn: Warn;
  readonly #moved: string[] = [];
  readonly #timer: NodeJS.Timeout;
  #unseen: string | undefined;
  #looking: Promise<void> = Promise.resolve();

  private constructor(roots: readonly string[], { obeyed }: Survey, warn: Warn) {
    this.#roots = roots;
    this.#before = new Map(obeyed.map((one) => [one.identity, one]));
    this.#warn = warn;
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#lookOnce(false));
    }, EVERY_MS);
    this.#timer.unref();
  }

  /** Rejects with a text for the model where it could not see everything. `roots` have no links. */
  static async begin(roots: readonly string[], warn: Warn): Promise<Watch> {
    const before = await surveyOf(roots, GUARDED);
    if (before.unseen !== undefined)
      throw new Error(
        `The command was not run: what it could leave for Git in its directories cannot be checked, for ${before.unseen}. ` +
          "The operator can mend that, or set agents.defaults.sandbox.workspaceAccess to ro.",
      );
    return new Watch(roots, before, warn);
  }

  /** To be called once, when the command has ended. Resolves with what the model has to know, if anything. Never rejects. */
  async end(): Promise<string | undefined> {
    clearInterval(this.#timer);
    await this.#looking;
    await this.#lookOnce(true);
    const texts = [
      this.#moved.length > 0 ? movedText(this.#moved) : "",
      this.#unseen === undefined ? "" : `What the command left for Git could not be checked, for ${this.#unseen}.`,
    ].filter((text) => text !== "");
    return texts.length === 0 ? undefined : texts.join(" ");
  }

  async #lookOnce(isEnd: boolean): Promise<void> {
    try {
      const { obeyed, unseen } = await surveyOf(this.#roots, GUARDED);
      this.#unseen = unseen;
      for (const one of obeyed) if ((isEnd || one.isAtEnd !== true) && !this.#isAllowed(one)) await this.#move(one);
    } catch (error) {
      this.#unseen = errorText(error);
    }
    if (this.#unseen !== undefined)
      this.#warn("what a sandboxed command left for Git could not be checked", { why: this.#unseen });
  }

  #isAllowed({ identity, path, config }: Obeyed): boolean {
    if (this.#before.has(identity)) return true;
    const earlier = [...this.#before.values()].find((one) => one.path === path);
    return config !== undefined && isHarmless(config, earlier?.config);
  }

  async #move(one: Obeyed): Promise<void> {
    const to = await setAside(one, Date.now());
    this.#warn("a sandboxed command made what programs outside obey: moved aside", { path: one.path, to });
    this.#moved.push(relative(one.root, one.path));
  }
}

function movedText(moved: readonly string[]): string {
  const names = [...new Set(moved)];
  const more = names.length > MOST_NAMED ? `, and ${names.length - MOST_NAMED} more` : "";
  return (
    `Moved to .openclaw/set-aside, for programs outside the sandbox would obey it: ${names.slice(0, MOST_NAMED).join(", ")}${more}. ` +
    "Do not make it again; the user can put it back."
  );
}
