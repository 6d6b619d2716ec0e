import { createReplyFilter, parseReply } from "../../reply/plain-reply.ts";
import type { DeltaPace, RunEvent, RunStream } from "../../types/run/events.ts";

/**
 * A run as web, RPC, HTTP and command-line clients see it: without directives, which only a channel can follow, without
 * the text of a silent answer, and without heartbeat tokens. Event numbers stay the same; a delta that is only a
 * directive is left out.
 */
export function plainStream(stream: RunStream): RunStream {
  return {
    get facts() {
      return stream.facts;
    },
    done: stream.done,
    watch: (from, pace) => plainEvents(stream, from, pace),
  };
}

/** Reads from the first event, because a directive may have begun before `from`. */
async function* plainEvents(stream: RunStream, from = 1, pace?: DeltaPace): AsyncIterable<RunEvent> {
  const plain = new PlainText();
  for await (const event of stream.watch(1, pace)) {
    const shown = plain.show(event);
    if (event.seq >= from) yield* shown;
  }
}

class PlainText {
  #filter = createReplyFilter();
  #text = "";
  /** All text of the message that the filter was given. */
  #whole = "";
  #isOver = false;

  show(event: RunEvent): readonly RunEvent[] {
    switch (event.type) {
      case "message_start":
        this.#filter = createReplyFilter();
        this.#text = "";
        this.#whole = "";
        this.#isOver = false;
        return [event];
      case "text_delta":
        this.#whole = event.text;
        if (event.anew) return this.#anew(event);
        return this.#delta(event, this.#isOver ? this.#continue(event.text) : this.#filter.push(event.delta));
      case "message_end":
        this.#isOver = true;
        return [...this.#delta(event, this.#filter.end()), { ...event, text: this.#plain(event.text) }];
      default:
        return [event];
    }
  }

  /** The text of a message that has ended. A text that the filter has read is not read again. */
  #plain(text: string): string {
    return text === this.#whole ? this.#text : parseReply(text).text;
  }

  /** Text after the end of a message continues one that broke off. `whole` contains the earlier part too. */
  #continue(whole: string): string {
    this.#isOver = false;
    this.#filter = createReplyFilter();
    const shown = this.#filter.push(whole);
    if (shown.startsWith(this.#text)) return shown.slice(this.#text.length);
    // The earlier end showed text that is now part of a directive. The next delta corrects it.
    this.#text = shown;
    return "";
  }

  #anew(event: RunEvent & { type: "text_delta" }): readonly RunEvent[] {
    this.#filter = createReplyFilter();
    this.#isOver = false;
    this.#text = this.#filter.push(event.delta);
    return [{ ...event, delta: this.#text, text: this.#text }];
  }

  #delta(event: RunEvent, delta: string): readonly RunEvent[] {
    const { seq, ts } = event;
    this.#text += delta;
    const unsure = event.type === "text_delta" && event.unsure && { unsure: true as const };
    return delta === "" ? [] : [{ type: "text_delta", delta, text: this.#text, seq, ts, ...unsure }];
  }
}
