import type { Block, Inline, List, Table } from "openclaw/plugin-sdk/markdown";
import { h } from "preact";
import type { ComponentChildren, VNode } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { markdownPieces } from "../markdown/markdown.ts";
import type { Piece } from "../markdown/markdown.ts";
import { copyText } from "./common/clipboard.ts";

/** Maximum levels of nested quotes and lists. Deeper levels are shown without their marks. */
const MAX_DEPTH = 24;
/** The schemes of links. Other addresses, which may run code or mean nothing here, are shown as their label alone. */
const SCHEMES = /^(?:https?:|mailto:|tel:|#)/i;

/** A Markdown text, which may still grow: only the piece that changed is drawn again. */
export function Markdown({ text, growing }: { text: string; growing: boolean }): VNode {
  const drawn = useRef<readonly Drawn[]>([]);
  drawn.current = useMemo(
    () => markdownPieces(text, growing).map((piece, index) => draw(piece, index, drawn.current[index])),
    [text, growing],
  );
  return <div class="markdown">{drawn.current.map(({ view }) => view)}</div>;
}

interface Drawn {
  readonly source: string;
  readonly view: VNode;
}

/** Preact compares nothing within a view that it has shown before. */
function draw(piece: Piece, index: number, before: Drawn | undefined): Drawn {
  const source = JSON.stringify(piece);
  if (before?.source === source) return before;
  const shown = piece.type === "plain" ? <p class="plain">{piece.text}</p> : blocks([piece]);
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
      return <p>{inlines(block.children)}</p>;
    case "heading":
      return h(`h${block.level}`, {}, inlines(block.children));
    case "code":
      return <Code text={block.text} language={block.language} />;
    case "quote":
      return depth < MAX_DEPTH ? (
        <blockquote>{blocks(block.children, depth + 1)}</blockquote>
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

function Code({ text, language }: { text: string; language: string }): VNode {
  const [label, setLabel] = useState("Copy");
  const showResult = (result: string): void => {
    setLabel(result);
    setTimeout(() => setLabel("Copy"), 1600);
  };
  const copy = (): void => void copyText(text).then((isDone) => showResult(isDone ? "Copied" : "Copy failed"));
  return (
    <div class="code">
      <div class="code-bar">
        <span>{language}</span>
        <button type="button" class="copy" onClick={copy}>
          {label}
        </button>
      </div>
      <pre>
        <code>{text}</code>
      </pre>
    </div>
  );
}

function listView({ start, tight, items }: List, depth: number): VNode {
  const views = items.map((item) => <li>{itemView(item, tight, depth)}</li>);
  return start === undefined ? <ul>{views}</ul> : <ol start={start}>{views}</ol>;
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
    <div class="table">
      <table>
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
      return inline.text;
    case "code":
      return <code>{inline.text}</code>;
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
      return link(inline.href, inline.children.length > 0 ? inlines(inline.children) : inline.href);
    case "image":
      return imageView(inline.src, inline.alt || "image");
  }
}

/** Only data URLs become images: fetching another image would reveal the reader's address to its host. */
const imageView = (src: string, alt: string): ComponentChildren =>
  /^data:image\/(?!svg)/i.test(src) ? <img src={src} alt={alt} /> : link(src, alt);

function link(href: string, label: ComponentChildren): ComponentChildren {
  if (!SCHEMES.test(href)) return label;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {label}
    </a>
  );
}
