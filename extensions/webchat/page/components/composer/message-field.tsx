import type { VNode } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { completed, type CommandRow, type Completion, type Completions } from "../../model/commands.ts";
import { useCompletion } from "./use-completion.ts";
import { t } from "../../words/words.ts";

interface FieldProps {
  readonly draft: string;
  readonly setDraft: (draft: string) => void;
  readonly send: () => void;
  readonly commands: readonly CommandRow[];
  /** The field gets the focus when its text is that of another place. */
  readonly place: string;
  /** Brings back the last message. */
  readonly recall: () => void;
  /** Ends what Escape ends. */
  readonly leave: (() => void) | undefined;
}

/** The text of a message, with completion of commands. Enter sends, Shift+Enter starts a new line. */
export function MessageField(props: FieldProps): VNode {
  const { draft, setDraft, send, commands, place, recall, leave } = props;
  const { field, cursor, look, blur, put } = useCursor(draft);
  const { found, active, activate, press } = useCompletion(draft, cursor, commands);
  const id = useId();
  useLayoutEffect(() => field.current?.focus(), [place]);
  useLayoutEffect(() => fit(field.current), [draft]);
  const choose = (item: Completion): void => {
    if (found === undefined) return;
    const next = completed(draft, found, item);
    put(next.cursor);
    setDraft(next.draft);
  };
  const doneBy = ({ key, altKey, ctrlKey, metaKey }: KeyboardEvent): (() => void) | undefined => {
    if (key === "Enter") return send;
    if (key === "Escape") return leave;
    return key === "ArrowUp" && draft === "" && !(altKey || ctrlKey || metaKey) ? recall : undefined;
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.isComposing || event.shiftKey) return;
    const effect = press(event.key);
    const done = effect.kind === "none" ? doneBy(event) : () => effect.kind === "chosen" && choose(effect.item);
    if (done === undefined) return;
    event.preventDefault();
    done();
  };
  return (
    <>
      {found !== undefined && (
        <CompletionList id={id} found={found} active={active} activate={activate} choose={choose} />
      )}
      <textarea
        ref={field}
        rows={1}
        dir="auto"
        aria-label={t("Message")}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-controls={found === undefined ? undefined : id}
        aria-activedescendant={found === undefined || active < 0 ? undefined : itemId(id, active)}
        placeholder={t("Message the agent")}
        value={draft}
        onInput={(event) => (look(), setDraft(event.currentTarget.value))}
        onKeyDown={pressed}
        onKeyUp={look}
        onClick={look}
        onFocus={look}
        onBlur={blur}
      />
      <span class="unseen" role="status">
        {found !== undefined && t("{length} to choose from", { length: found.items.length })}
      </span>
    </>
  );
}

function useCursor(draft: string) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [cursor, setCursor] = useState<number>();
  const wanted = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    field.current?.setSelectionRange(wanted.current, wanted.current);
    wanted.current = undefined;
  }, [draft]);
  /** Reads where the cursor is; a selection has none. */
  const look = (): void => {
    const { selectionStart, selectionEnd } = field.current ?? { selectionStart: 0, selectionEnd: 1 };
    setCursor(selectionStart === selectionEnd ? selectionStart : undefined);
  };
  const blur = (): void => setCursor(undefined);
  /** Puts the cursor there once the draft has changed. */
  const put = (at: number): void => {
    wanted.current = at;
    setCursor(at);
  };
  return { field, cursor, look, blur, put };
}

function fit(field: HTMLTextAreaElement | null): void {
  if (field === null) return;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

interface ListProps {
  readonly id: string;
  readonly found: Completions;
  /** Position of the item that Enter inserts; -1 for none. */
  readonly active: number;
  readonly activate: (index: number) => void;
  readonly choose: (item: Completion) => void;
}

/** The id of an item of the list, for `aria-activedescendant`. */
const itemId = (list: string, index: number): string => `${list}-${index}`;

/** The completions of the word at the cursor, above the message. The focus stays in the message. */
function CompletionList(props: ListProps): VNode {
  const { id, found, active, activate, choose } = props;
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => list.current?.children[active]?.scrollIntoView({ block: "nearest" }), [active, found]);
  return (
    <ul
      ref={list}
      id={id}
      class="completions"
      role="listbox"
      aria-label={found.kind === "command" ? t("Commands") : t("Choices")}
      tabIndex={0}
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
