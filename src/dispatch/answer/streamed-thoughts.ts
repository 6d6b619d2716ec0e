import { Secret } from "../../utils/secrets/secret.ts";

/**
 * UTF-16 units of the newest thoughts that a preview shows. A preview is one message, which must have room for the
 * answer too.
 */
const MOST_SHOWN = 1200;

/** The model's thoughts as the preview of an answer shows them, before the text. They are no part of the answer. */
export class StreamedThoughts {
  #text = "";
  #isParted = false;
  #wasShown = false;

  /** Whether a preview with thoughts may be in the chat. */
  get wasShown(): boolean {
    return this.#wasShown;
  }

  push(delta: string): void {
    const gap = this.#isParted && this.#text !== "" ? "\n\n" : "";
    this.#isParted = false;
    // A secret that is cut at the front would not be masked.
    this.#text = (this.#text + gap + delta).slice(-8 * MOST_SHOWN);
  }

  /** Called when the model has written other text: its next thinking is a thought of its own. */
  part(): void {
    this.#isParted = true;
  }

  /** The preview of a text. Its length never shrinks while thoughts come, because a preview cannot become shorter. */
  before(visible: string): string {
    const masked = Secret.mask(this.#text).trim();
    if (masked === "") return visible;
    this.#wasShown = true;
    const shown = masked.length > MOST_SHOWN ? `…${masked.slice(-MOST_SHOWN)}` : masked;
    const quoted = shown.split("\n").map((line) => (line === "" ? ">" : `> ${line}`));
    return [`💭 Reasoning:\n\n${quoted.join("\n")}`, visible].filter((part) => part !== "").join("\n\n");
  }
}
