import { createDirectiveFilter, parseDirectives, type DirectiveFilter } from "../../reply/directives.ts";
import type { RunEvent, RunStream } from "../../types/run/events.ts";

/**
 * A run as web, RPC, HTTP and command-line clients see it: without the directives that only a channel can follow, and
 * without the words of an answer that is to be silent. Numbers stay; a delta that is all directive falls out.
 */
export function plainStream(stream: RunStream): RunStream {
  return {
    get facts() {
      return stream.facts;
    },
    done: stream.done,
    watch: (from) => plainEvents(stream, from),
  };
}

/** From the first event on: a directive may have begun before the one that is wanted. */
async function* plainEvents(stream: RunStream, from = 1): AsyncIterable<RunEvent> {
  const words = new PlainWords();
  for await (const event of stream.watch()) {
    const shown = words.show(event);
    if (event.seq >= from) yield* shown;
  }
}

class PlainWords {
  #filter: DirectiveFilter = createDirectiveFilter();
  #text = "";
  #isOver = false;

  show(event: RunEvent): readonly RunEvent[] {
    switch (event.type) {
      case "message_start":
        this.#filter = createDirectiveFilter();
        this.#text = "";
        this.#isOver = false;
        return [event];
      case "text_delta":
        return this.#grow(event, this.#isOver ? this.#goOn(event.text) : this.#filter.push(event.delta));
      case "message_end":
        this.#isOver = true;
        return [...this.#grow(event, this.#filter.end()), { ...event, text: parseDirectives(event.text).text }];
      default:
        return [event];
    }
  }

  /** Words after the end of a message go on with one that broke off; `whole` has what was said of it before. */
  #goOn(whole: string): string {
    this.#isOver = false;
    this.#filter = createDirectiveFilter();
    const shown = this.#filter.push(whole);
    if (shown.startsWith(this.#text)) return shown.slice(this.#text.length);
    // The end told what the rest makes part of a directive: the next delta has the right text.
    this.#text = shown;
    return "";
  }

  #grow({ seq, ts }: RunEvent, delta: string): readonly RunEvent[] {
    this.#text += delta;
    return delta === "" ? [] : [{ type: "text_delta", delta, text: this.#text, seq, ts }];
  }
}
