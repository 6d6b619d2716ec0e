import { isVisible, skipBlanks } from "./cut.ts";
import { flatten, type Layout } from "./flatten.ts";
import { parseMarkdown } from "./parse.ts";
import type { StyledText } from "./styled.ts";

/** Makes the message that begins at `from`, and returns where its text ends, after `from`. */
type NextChunk<C> = (styled: StyledText, from: number) => { readonly to: number; readonly chunk: C };

/**
 * Markdown as the messages that `next` makes of it, without messages that show nothing. Markdown that shows nothing at
 * all, such as a lone link definition, is taken as it was written; text without visible signs gives none.
 */
export function inChunks<C extends { readonly plain: string }>(
  markdown: string,
  layout: Layout,
  next: NextChunk<C>,
): C[] {
  const chunks = chunksOf(flatten(parseMarkdown(markdown), layout), next);
  if (chunks.length > 0 || !isVisible(markdown)) return chunks;
  const asWritten = { type: "text", text: markdown.toWellFormed() } as const;
  return chunksOf(flatten({ blocks: [{ type: "paragraph", children: [asWritten] }] }), next);
}

function chunksOf<C extends { readonly plain: string }>(styled: StyledText, next: NextChunk<C>): C[] {
  const chunks: C[] = [];
  for (let from = skipBlanks(styled.text, 0); from < styled.text.length;) {
    const { to, chunk } = next(styled, from);
    if (isVisible(chunk.plain)) chunks.push(chunk);
    from = skipBlanks(styled.text, to);
  }
  return chunks;
}
