import type { VNode } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { blocksOf } from "../markdown/markdown.ts";
import type { Block } from "../markdown/markdown.ts";

/** Markdown, also while it is still being written: only the piece that changes is made anew. */
export function Markdown(props: { text: string; growing: boolean }): VNode {
  const held = useRef<readonly Block[]>([]);
  held.current = useMemo(() => blocksOf(props.text, props.growing, held.current), [props.text, props.growing]);
  return (
    <div class="markdown" onClick={copyFrom}>
      {held.current.map((block, index) => (
        <Piece key={index} html={block.html} />
      ))}
    </div>
  );
}

function Piece(props: { html: string }): VNode {
  return useMemo(() => <div class="piece" dangerouslySetInnerHTML={{ __html: props.html }} />, [props.html]);
}

function copyFrom(event: MouseEvent): void {
  const button = event.target;
  if (!(button instanceof HTMLButtonElement) || !button.classList.contains("copy")) return;
  const code = button.closest(".code")?.querySelector("code")?.textContent ?? "";
  const tell = (word: string): void => {
    button.textContent = word;
    setTimeout(() => (button.textContent = "Copy"), 1600);
  };
  navigator.clipboard.writeText(code).then(
    () => tell("Copied"),
    () => tell("Not allowed"),
  );
}
