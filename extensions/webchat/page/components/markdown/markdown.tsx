import type { Block, Inline, List, Table } from "openclaw/plugin-sdk/markdown";
import { createContext, h, render } from "preact";
import type { ComponentChildren, VNode } from "preact";
import { useContext, useId, useMemo, useRef, useState } from "preact/hooks";
import { withNoteMarks, withoutFootnotes, type Footnote } from "../../markdown/footnotes.ts";
import { asWritten, hasFormula, withFormulas, withoutFormulas, type Formula } from "../../markdown/formulas.ts";
import type { highlighted as Highlighted } from "../../markdown/highlight.ts";
import { unnamedPlace } from "../../markdown/links.ts";
import { markdownPieces } from "../../markdown/markdown.ts";
import type { Piece } from "../../markdown/markdown.ts";
import { copyText } from "../common/clipboard.ts";
import { showInLog, useLoaded } from "../common/hooks.ts";
import { t } from "../../words/words.ts";

/** Maximum levels of nested quotes and lists. Deeper levels are shown without their marks. */
const MAX_DEPTH = 24;
/** The schemes of links. Other addresses, which may run code or mean nothing here, are shown as their label alone. */
const SCHEMES = /^(?:https?:|mailto:|tel:|#)/i;

/** A Markdown text, which may still grow: only the piece that changed is drawn again. */
export function Markdown({ text, growing }: { text: string; growing: boolean }): VNode {
  const drawn = useRef<readonly Drawn[]>([]);
  const { body: whole, formulas } = useMemo(() => withoutFormulas(text), [text]);
  const { body, notes } = useMemo(() => withoutFootnotes(whole), [whole]);
  drawn.current = useMemo(
    () => markdownPieces(body, growing).map((piece, index) => draw(piece, index, drawn.current[index])),
    [body, growing],
  );
  const id = useId();
  const pieces = drawn.current.map(({ view }) => view);
  const parts = useMemo(() => ({ id, notes, formulas }), [id, notes, formulas]);
  if (notes.length + formulas.length === 0) return <div class="markdown">{pieces}</div>;
  return (
    <PartsOfText.Provider value={parts}>
      <div class="markdown">
        {pieces}
        {notes.length > 0 && <Footnotes id={id} notes={notes} />}
      </div>
    </PartsOfText.Provider>
  );
}

interface TextParts {
  /** Unique to the text on the page. */
  readonly id: string;
  readonly notes: readonly Footnote[];
  readonly formulas: readonly Formula[];
}

/** The footnotes and formulas of the text around. */
const PartsOfText = createContext<TextParts>({ id: "", notes: [], formulas: [] });

const noteId = (id: string, at: number): string => `note-${id}-${at}`;
const markId = (id: string, at: number): string => `note-mark-${id}-${at}`;

function Footnotes({ id, notes }: { readonly id: string; readonly notes: readonly Footnote[] }): VNode {
  return (
    <section class="footnotes" aria-label={t("Footnotes")}>
      <ol>
        {notes.map(({ text }, at) => (
          <li key={at} id={noteId(id, at)} tabIndex={-1}>
            {markdownPieces(text, false).map((piece, index) => draw(piece, index, undefined).view)}
            <button
              type="button"
              class="link"
              aria-label={t("Back to the text at {at}", { at: at + 1 })}
              onClick={() => goTo(markId(id, at))}
            >
              ↩
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** A text with its formulas, and the marks of its footnotes. */
function RichText({ text }: { readonly text: string }): VNode {
  const { formulas } = useContext(PartsOfText);
  return (
    <>
      {withFormulas(text).map((piece, at) => {
        const formula = typeof piece === "number" ? formulas[piece] : undefined;
        if (formula !== undefined) return <FormulaView key={at} formula={formula} />;
        return <NotedText key={at} text={String(piece)} />;
      })}
    </>
  );
}

/** A formula; as it was written until it can be drawn, and when it is none. */
function FormulaView({ formula: { tex, isBlock, source } }: { readonly formula: Formula }): VNode {
  const drawing = useLoaded(true, () => import("../../markdown/tex.ts"));
  const view = useMemo(() => drawing?.formulaView(tex, isBlock), [drawing, tex, isBlock]);
  if (view === undefined) return <>{source}</>;
  return <span class={isBlock ? "formula formula-block" : "formula"}>{view}</span>;
}

/** A text of code with the formulas as they were written. */
function WrittenText({ text }: { readonly text: string }): VNode {
  return <>{asWritten(text, useContext(PartsOfText).formulas)}</>;
}

/** A text with the marks of its footnotes. */
function NotedText({ text }: { readonly text: string }): VNode {
  const { notes } = useContext(PartsOfText);
  return (
    <>
      {withNoteMarks(text, notes).map((piece, at) =>
        typeof piece === "string" ? piece : <NoteMark key={at} at={piece} />,
      )}
    </>
  );
}

function NoteMark({ at }: { readonly at: number }): VNode {
  const { id } = useContext(PartsOfText);
  if (useContext(InLink)) return <sup>{at + 1}</sup>;
  return (
    <sup>
      <button
        type="button"
        class="link"
        id={markId(id, at)}
        aria-label={t("Footnote {at}", { at: at + 1 })}
        onClick={() => goTo(noteId(id, at))}
      >
        {at + 1}
      </button>
    </sup>
  );
}

function goTo(id: string): void {
  const place = document.getElementById(id);
  if (place === null) return;
  showInLog(place);
  place.focus({ preventScroll: true });
}

interface Drawn {
  readonly source: string;
  readonly view: VNode;
}

/** Preact compares nothing within a view that it has shown before. */
function draw(piece: Piece, index: number, before: Drawn | undefined): Drawn {
  const source = JSON.stringify(piece);
  if (before?.source === source) return before;
  const shown =
    piece.type === "plain" ? (
      <p class="plain" dir="auto">
        {piece.text}
      </p>
    ) : (
      blocks([piece])
    );
  const view = (
    <div key={index} class="piece">
      {shown}
    </div>
  );
  return { source, view };
}

const blocks = (all: readonly Block[], depth = 0): VNode[] => all.flatMap((block) => blockView(block, depth));

function blockView(block: Block, depth: number): VNode | VNode[] {
  switch (block.type) {
    case "paragraph":
      return <p dir="auto">{inlines(block.children)}</p>;
    case "heading":
      return h(`h${block.level}`, { dir: "auto" }, inlines(block.children));
    case "code":
      return <Code text={block.text} language={block.language} />;
    case "quote":
      return depth < MAX_DEPTH ? (
        <blockquote dir="auto">{blocks(block.children, depth + 1)}</blockquote>
      ) : (
        blocks(block.children, depth)
      );
    case "list":
      return depth < MAX_DEPTH ? listView(block, depth + 1) : block.items.flatMap((item) => blocks(item, depth));
    case "table":
      return tableView(block);
    case "rule":
      return <hr />;
  }
}

function Code({ text: marked, language }: { text: string; language: string }): VNode {
  const text = asWritten(marked, useContext(PartsOfText).formulas);
  const [label, setLabel] = useState(COPY);
  const colours = useLoaded(language !== "", () => import("../../markdown/highlight.ts"));
  const showResult = (result: string): void => {
    setLabel(result);
    setTimeout(() => setLabel(COPY), 1600);
  };
  const copy = (): void => void copyText(text).then((isDone) => showResult(isDone ? t("Copied") : t("Copy failed")));
  return (
    <div class="code">
      <div class="code-bar">
        <span>{language}</span>
        <button type="button" class="copy" onClick={copy}>
          {label}
        </button>
      </div>
      <pre dir="ltr" tabIndex={0}>
        <code>{coloured(text, language, colours?.highlighted)}</code>
      </pre>
    </div>
  );
}

const COPY = t("Copy");

/** The code with a colour for each kind of its pieces, once the colours are loaded. */
const coloured = (text: string, language: string, highlighted: typeof Highlighted | undefined): ComponentChildren =>
  highlighted === undefined
    ? text
    : highlighted(text, language).map(({ text: piece, kind }) =>
        kind === undefined ? piece : <span class={`code-${kind}`}>{piece}</span>,
      );

function listView({ start, tight, items }: List, depth: number): VNode {
  const views = items.map((item) => <li>{itemView(item, tight, depth)}</li>);
  return start === undefined ? (
    <ul dir="auto">{views}</ul>
  ) : (
    <ol dir="auto" start={start}>
      {views}
    </ol>
  );
}

/** The paragraph of a tight item has no margins. `[x]` at its beginning is a box. */
function itemView([first, ...rest]: readonly Block[], tight: boolean, depth: number): ComponentChildren {
  if (first?.type !== "paragraph") return first && blocks([first, ...rest], depth);
  const [text, ...others] = first.children;
  const box = text?.type === "text" ? /^\[([ xX])\](?= )/.exec(text.text) : null;
  const said =
    text?.type === "text" && box
      ? [<input type="checkbox" disabled checked={box[1] !== " "} />, text.text.slice(3), inlines(others)]
      : inlines(first.children);
  return [tight ? said : <p>{said}</p>, blocks(rest, depth)];
}

function tableView({ head, rows, align }: Table): VNode {
  const row = (cells: Table["head"], Tag: "th" | "td"): VNode => (
    <tr>
      {cells.map((cell, at) => (
        <Tag align={align[at] === "left" ? undefined : align[at]}>{inlines(cell)}</Tag>
      ))}
    </tr>
  );
  return (
    <div class="table" role="group" aria-label={t("Table")} tabIndex={0}>
      <table dir="auto">
        <thead>{row(head, "th")}</thead>
        <tbody>{rows.map((cells) => row(cells, "td"))}</tbody>
      </table>
    </div>
  );
}

const inlines = (all: readonly Inline[]): ComponentChildren[] => all.map(inlineView);

const MARKS = { bold: "strong", italic: "em", strike: "del" } as const;

function inlineView(inline: Inline): ComponentChildren {
  switch (inline.type) {
    case "text":
      return inline.text.includes("[^") || hasFormula(inline.text) ? <RichText text={inline.text} /> : inline.text;
    case "code":
      return <code dir="auto">{hasFormula(inline.text) ? <WrittenText text={inline.text} /> : inline.text}</code>;
    case "break":
      return <br />;
    case "mark":
      if (inline.mark !== "spoiler") return h(MARKS[inline.mark], {}, inlines(inline.children));
      return (
        <span class="spoiler" tabIndex={0}>
          {inlines(inline.children)}
        </span>
      );
    case "link":
      return inline.children.length > 0 ? (
        <LinkView href={inline.href} words={textOf(inline.children)}>
          {inlines(inline.children)}
        </LinkView>
      ) : (
        <LinkView href={inline.href} words="">
          {inline.href}
        </LinkView>
      );
    case "image":
      return <ImageView src={inline.src} alt={inline.alt || t("image")} />;
  }
}

/** Whether a link is around: there is nothing else in a link that the pointer or the keyboard could reach. */
const InLink = createContext(false);

/** Only data URLs become images: fetching another image would reveal the reader's address to its host. */
function ImageView({ src, alt }: { readonly src: string; readonly alt: string }): VNode {
  if (/^data:image\/(?!svg)/i.test(src)) return <img src={src} alt={alt} />;
  return (
    <LinkView href={src} words={alt}>
      {alt}
    </LinkView>
  );
}

interface LinkProps {
  readonly href: string;
  readonly words: string;
  readonly children: ComponentChildren;
}

/** A link. One whose words name another place than it leads to is followed by the place to which it leads. */
function LinkView({ href, words, children }: LinkProps): VNode {
  if (useContext(InLink) || !SCHEMES.test(href)) return <>{children}</>;
  const place = unnamedPlace(href, words);
  return (
    <>
      <a href={href} target="_blank" rel="noopener noreferrer">
        <InLink.Provider value={true}>{children}</InLink.Provider>
      </a>
      {place !== undefined && <span class="link-host"> ({place})</span>}
    </>
  );
}

function wordsOf(inline: Inline): string {
  if ("children" in inline) return textOf(inline.children);
  if (inline.type === "break") return " ";
  return inline.type === "image" ? inline.alt : inline.text;
}

const textOf = (all: readonly Inline[]): string => all.map(wordsOf).join("");

/**
 * Markdown texts as HTML that means the same in other programs: without the page's classes, buttons and colours, and with nothing that
 * could run. Formulas are as they were written.
 */
export function answerHtml(texts: readonly string[]): string {
  const html = document.createElement("div");
  for (const text of texts) {
    const drawn = document.createElement("div");
    render(<Markdown text={text} growing={false} />, drawn);
    html.append(...copiesOf(drawn));
    render(null, drawn);
  }
  return html.innerHTML;
}

/** The elements that are kept, each with its attributes; of others, their content is. */
const KEPT: ReadonlyMap<string, readonly string[]> = new Map([
  ["a", ["href"]],
  ["img", ["src", "alt"]],
  ["ol", ["start"]],
  ["th", ["align"]],
  ["td", ["align"]],
  ...["p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "code", "blockquote", "ul", "li", "hr", "br"].map(plain),
  ...["table", "thead", "tbody", "tr", "strong", "em", "del", "sup"].map(plain),
]);

function plain(name: string): [string, readonly string[]] {
  return [name, []];
}

/** The parts of the page around a text: the bar of a piece of code, and the way back from a footnote. */
const isOfPage = (node: Element): boolean =>
  node.classList.contains("code-bar") || (node.localName === "button" && node.parentElement?.localName === "li");

const copiesOf = (from: Element): readonly Node[] => [...from.childNodes].flatMap(copyOf);

function copyOf(node: Node): readonly Node[] {
  if (!(node instanceof Element)) return [document.createTextNode(node.textContent ?? "")];
  if (node instanceof HTMLInputElement) return [document.createTextNode(node.checked ? "☑" : "☐")];
  if (isOfPage(node)) return [];
  const name = node.localName;
  const attributes = KEPT.get(name);
  // A place in this page is none in another program.
  if (attributes === undefined || node.getAttribute("href")?.startsWith("#") === true) return copiesOf(node);
  const copy = document.createElement(name);
  for (const attribute of ["dir", ...attributes]) {
    const value = node.getAttribute(attribute);
    if (value !== null) copy.setAttribute(attribute, value);
  }
  copy.append(...copiesOf(node));
  return [copy];
}
