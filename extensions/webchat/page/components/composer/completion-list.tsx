import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Completion, Completions } from "../../model/commands.ts";

interface ListProps {
  readonly id: string;
  readonly found: Completions;
  /** Position of the item that Enter inserts; -1 for none. */
  readonly active: number;
  readonly activate: (index: number) => void;
  readonly choose: (item: Completion) => void;
}

/** The id of an item of the list, for `aria-activedescendant`. */
export const itemId = (list: string, index: number): string => `${list}-${index}`;

/** The completions of the word at the cursor, above the message. The focus stays in the message. */
export function CompletionList(props: ListProps): VNode {
  const { id, found, active, activate, choose } = props;
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => list.current?.children[active]?.scrollIntoView({ block: "nearest" }), [active, found]);
  return (
    <ul
      ref={list}
      id={id}
      class="completions"
      role="listbox"
      aria-label={found.kind === "command" ? "Commands" : "Choices"}
      onMouseDown={(event) => event.preventDefault()}
    >
      {found.items.map((item, index) => (
        <li
          key={item.word}
          id={itemId(id, index)}
          role="option"
          aria-selected={index === active}
          onMouseMove={() => index !== active && activate(index)}
          onClick={() => choose(item)}
        >
          <span class="completion-word">{item.word}</span>
          {item.help !== "" && <span class="completion-help">{item.help}</span>}
        </li>
      ))}
    </ul>
  );
}
