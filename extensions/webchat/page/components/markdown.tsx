import type { VNode } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { blocksOf } from "../markdown/markdown.ts";
import type { Block } from "../markdown/markdown.ts";

/** A Markdown text, which may still grow: only the block that changed is drawn again. */
export function Markdown(props: { text: string; growing: boolean }): VNode {
  const blocks = useRef<readonly Block[]>([]);
  blocks.current = useMemo(() => blocksOf(props.text, props.growing, blocks.current), [props.text, props.growing]);
  return (
    <div class="markdown" onClick={copyFrom}>
      {blocks.current.map((block, index) => (
        <BlockView key={index} html={block.html} />
      ))}
    </div>
  );
}

function BlockView(props: { html: string }): VNode {
  return useMemo(() => <div class="piece" dangerouslySetInnerHTML={{ __html: props.html }} />, [props.html]);
}

function copyFrom(event: MouseEvent): void {
  const button = event.target;
  if (!(button instanceof HTMLButtonElement) || !button.classList.contains("copy")) return;
  const code = button.closest(".code")?.querySelector("code")?.textContent ?? "";
  const showResult = (label: string): void => {
    button.textContent = label;
    setTimeout(() => (button.textContent = "Copy"), 1600);
  };
  navigator.clipboard.writeText(code).then(
    () => showResult("Copied"),
    () => showResult("Copy failed"),
  );
}
