/** `openclaw/plugin-sdk/markdown`: the Markdown of answers, as channels and the chat page read it. */
export { parseMarkdown } from "../reply/markdown/parse.ts";
export type { MarkdownOptions } from "../reply/markdown/parse.ts";
export type { Block, Cell, Inline, List, Mark, MarkdownDoc, Table } from "../reply/markdown/doc.ts";
