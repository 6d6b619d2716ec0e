import { describe, expect, it } from "vitest";
import { createBlockChunker } from "../../src/reply/block-chunker.ts";
import { createDirectiveFilter, parseDirectives } from "../../src/reply/directives.ts";
import { renderChunks } from "../../src/reply/format/chunks.ts";
import { createHeartbeatFilter, stripHeartbeatToken } from "../../src/reply/heartbeat-token.ts";
import { toPlain } from "../kit/whole-document.ts";
import { parseMarkdown } from "../../src/reply/markdown/parse.ts";
import { renderTelegramChunks } from "../../src/reply/markdown/telegram.ts";
import { createTagStripper } from "../../src/reply/tags.ts";
import { neutralise } from "../../src/prompt/untrusted.ts";
import { processorTime } from "../kit/processor-time.ts";

const LENGTH = 30_000;
const SHORT = LENGTH / 10;
/** How many times as much the text of `LENGTH` may take as the one of `SHORT`: linear work takes 10 times as much, quadratic 100 times. */
const MOST_TIMES = 50;
/** Milliseconds below which nothing is measured: less is the noise of a busy machine. */
const NOISE = 3;
/** Quadratic work is too slow each time, linear work now and then: when its rubbish is collected, or another program has the memory. */
const MOST_TRIES = 12;

/** What is done to every answer, and to every message. */
const WORK: Readonly<Record<string, (text: string) => unknown>> = {
  "the renderers of all chats": (text) => [
    renderTelegramChunks(text),
    renderChunks(text, "slack-mrkdwn", { limit: 4000 }),
    renderChunks(text, "discord", { limit: 2000 }),
    renderChunks(text, "signal-styled", { limit: 2000 }),
    renderChunks(text, "whatsapp", { limit: 4096 }),
    toPlain(parseMarkdown(text)),
  ],
  "the parser on the chat page": (text) => parseMarkdown(text, { linksAddresses: true }),
  "the filters of an answer": (text) => {
    const tags = createTagStripper();
    const directives = createDirectiveFilter();
    return [directives.push(tags.push(text)), directives.push(tags.end()), directives.end(), parseDirectives(text)];
  },
  "the chunker": (text) => {
    const chunker = createBlockChunker({ minChars: 800, maxChars: 4000, breakPreference: "paragraph" });
    return [...chunker.push(text), ...chunker.flush()];
  },
  "the heartbeat's answer": (text) => {
    const filter = createHeartbeatFilter();
    const parts = text.match(/[^]{1,7}/g) ?? [];
    return [stripHeartbeatToken(text), stripHeartbeatToken(`a ${text} b`), parts.map((part) => filter.push(part))];
  },
  "what removes the gateway's markers from foreign text": neutralise,
};

const REPEATED = [
  ["![", "[", "[[", "[](", "[a](", "![a](", "]", "[]", '[a](b "', "[a](<b ", "[a](b (", "[a]: ", "[a]: b\n", "[^"],
  ["[*", "*[", "![*", "<", "<a", "</", "<!--", "<br>", "<think", "<final ", "<<<", "<|", "[INST", "(", "((", ")"],
  ["*", "**", "_", "*a ", "_a ", "**a ", "a*b_", "*_", "_*a", "~~", "~~a", "||", "|| ", "`", "``a", "`a", "```\n"],
  ["> ", "- ", "1. ", "#", "# ", "|", "|a|\n|-|\n", "---\n", "===\n", "    a\n", "\\", "&", "&amp;", "$x$", "\\("],
  ["\n", "a\n", "a\n\n", " ", "\t", "a ", "é", "e\u0301", "\u200b", "\u200d", "😀", "「", "**注", "\u2028"],
  ["http://", "http://a/", "http://a)", "System", "System ", "\nSystem ", "S\u200by", "[media attached: ", "[[media:"],
  ["HEARTBEAT_OK", "HEARTBEAT_OK ", "*HEARTBEAT_OK", "\n(untrusted ", "\n> ", "\n**", "Queued #", "[Tool Call: "],
]
  .flat()
  .map((part): [name: string, text: (length: number) => string] => [
    `${JSON.stringify(part)} over and over`,
    (length) => part.repeat(Math.ceil(length / part.length)).slice(0, length),
  ]);

const CLOSED: [name: string, text: (length: number) => string][] = [
  ["brackets of which one closes", (length) => `${"[".repeat(length)}](http://a.b)`],
  ["images of which one closes", (length) => `${"![".repeat(length / 2)}](http://a.b)`],
  ["brackets that all close", (length) => `${"[".repeat(length / 2)}${"]".repeat(length / 2)}(http://a.b)`],
  ["brackets after a definition", (length) => `[a]: b\n\n${"![".repeat(length / 2)}]`],
  ["bold text within bold text", (length) => `${"*".repeat(length / 2)}a${"*".repeat(length / 2)}`],
  ["brackets in deep quotes", (length) => `${"> ".repeat(900)}${"[".repeat(length)}`],
];

/** The two texts are measured one after the other, so that both meet the machine in the same state. */
function runsAway(work: (text: string) => unknown, text: (length: number) => string): boolean {
  const short = processorTime(() => work(text(SHORT)));
  const long = processorTime(() => work(text(LENGTH)));
  return long > Math.max(NOISE, short) * MOST_TIMES;
}

describe.each(Object.entries(WORK))("the cost of %s", (_name, work) => {
  it.each([...REPEATED, ...CLOSED])("does not run away for %s", (_name, text) => {
    const tries = Array.from({ length: MOST_TRIES }, (_, at) => at);
    expect(tries.every(() => runsAway(work, text))).toBe(false);
  });
});
