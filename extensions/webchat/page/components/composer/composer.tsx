import type { VNode } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { readFiles } from "../../model/attachments.ts";
import type { Chat } from "../../model/chat.ts";
import { withModels, type CommandRow } from "../../model/commands.ts";
import { draftOf, draftPlace, keepDraft } from "../../model/address.ts";
import type { Picture } from "../../model/exchanges.ts";
import { chatApp } from "../../model/format.ts";
import { isAvailable, type Limits } from "../../model/protocol.ts";
import type { PageState } from "../../model/state.ts";
import { Icon, StopIcon } from "../common/icons.tsx";
import { fullName, ModelPicker, ThinkingChoice } from "./choices.tsx";
import { MessageField } from "./message-field.tsx";
import { t } from "../../words/words.ts";

const MAX_PICTURES = 10;
const LIMITS: Limits = { payload: 26_214_400, attachment: 5_242_880, image: 5_242_880 };

/** The input for messages. Enter sends, Shift+Enter starts a new line; images can be pasted, dropped or chosen. */
export function Composer(props: { state: PageState; chat: Chat; running: boolean }): VNode {
  const { state, chat, running } = props;
  const { sessionKey } = state;
  const { editing, givenBack } = state.composing;
  const place = draftPlace(sessionKey, editing);
  const [draft, setDraft] = useDraft(place, givenBack);
  const { pictures, setPictures, add } = usePictures(state.hello?.limits ?? LIMITS, chat, {
    place,
    first: editing?.pictures ?? NO_PICTURES,
  });
  const commands = useCommands(state);
  const isEmpty = draft.trim() === "" && pictures.length === 0;
  const send = (): void => {
    if (isEmpty) return;
    if (editing !== undefined) return chat.replace(editing.entryId, draft.trim(), pictures);
    chat.send(draft.trim(), pictures);
    setDraft("");
    setPictures([]);
  };
  return (
    <form
      class="composer column"
      onSubmit={(event) => (event.preventDefault(), send())}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => (event.preventDefault(), add(event.dataTransfer?.files))}
      onPaste={(event) => add(event.clipboardData?.files)}
    >
      {editing !== undefined && <EditNote chat={chat} />}
      <Thumbnails pictures={pictures} remove={(index) => setPictures(pictures.filter((_, other) => other !== index))} />
      <MessageField
        draft={draft}
        setDraft={setDraft}
        send={send}
        commands={commands}
        place={place}
        recall={() => chat.editLast()}
        leave={editing && (() => chat.edit())}
      />
      <NotToPerson state={state} chat={chat} draft={draft} sent={() => setDraft("")} />
      <div class="controls">
        <FilePicker add={add} />
        <ModelPicker state={state} chat={chat} />
        <ThinkingChoice state={state} chat={chat} />
        <SendButtons running={running} isEmpty={isEmpty} chat={chat} />
      </div>
    </form>
  );
}

/** The commands, with the names of the models for the command that chooses a model. */
function useCommands({ catalog: { commands, models } }: PageState): readonly CommandRow[] {
  return useMemo(() => {
    const available = models.filter(isAvailable);
    return withModels(
      commands,
      available.map((model) => fullName(model.provider, model.id)),
    );
  }, [commands, models]);
}

interface PersonProps {
  readonly state: PageState;
  readonly chat: Chat;
  readonly draft: string;
  /** Called when the text was sent to the person. */
  readonly sent: () => void;
}

/**
 * Says that a conversation of a chat app is the agent's own here: its person gets neither the message nor the answer, unless
 * they are sent the text.
 */
function NotToPerson({ state, chat, draft, sent }: PersonProps): VNode | null {
  const { sessionKey, hello } = state;
  const [told, setTold] = useState({ sessionKey: "", text: "", isBusy: false });
  const attempt = useRef({ of: "", key: "" });
  const app = chatApp(sessionKey);
  if (app === undefined) return null;
  const text = draft.trim();
  const tell = (words: string, isBusy = false): void => setTold({ sessionKey, text: words, isBusy });
  const send = (): void => {
    // A second attempt with the same text cannot send it twice.
    if (attempt.current.of !== sessionKey + text) attempt.current = { of: sessionKey + text, key: crypto.randomUUID() };
    tell(t("Sending…"), true);
    chat.sendToPerson(sessionKey, text, attempt.current.key).then(
      ({ isSent, told: words }) => {
        tell(words);
        if (!isSent) return;
        attempt.current = { of: "", key: "" };
        sent();
      },
      (error: unknown) =>
        tell(t("Not sent: {error}", { error: error instanceof Error ? error.message : String(error) })),
    );
  };
  return (
    <p class="composer-note">
      {t("This goes to the agent. The person on {app} gets neither your message nor its answer.", { app })}{" "}
      {hello?.methods.includes("send") === true && (
        <button type="button" class="link" disabled={text === "" || told.isBusy} onClick={send}>
          {t("Send to the person")}
        </button>
      )}{" "}
      <span role="status">{told.sessionKey === sessionKey && told.text}</span>
    </p>
  );
}

/** Says what sending does while a message is edited. */
function EditNote({ chat }: { readonly chat: Chat }): VNode {
  return (
    <p class="composer-note">
      {t("Editing: what you send takes the place of your message, and of everything after it.")}{" "}
      <button type="button" class="link" onClick={() => chat.edit()}>
        {t("Cancel")}
      </button>
    </p>
  );
}

/** The unsent text of each conversation. */
function useDraft(place: string, givenBack: number): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState(() => ({ place, givenBack, text: draftOf(place) }));
  const text = typed.place === place && typed.givenBack === givenBack ? typed.text : draftOf(place);
  return [text, (next) => (keepDraft(place, next), setTyped({ place, givenBack, text: next }))];
}

const NO_PICTURES: readonly Picture[] = [];

/** The unsent pictures of each conversation, until the page is reloaded; `first`: those of a message that is edited. */
function usePictures(limits: Limits, chat: Chat, from: { place: string; first: readonly Picture[] }) {
  const { place, first } = from;
  const [all, setAll] = useState<ReadonlyMap<string, readonly Picture[]>>(new Map());
  const pictures = all.get(place) ?? first;
  const setPictures = (next: readonly Picture[]): void => setAll((before) => new Map(before).set(place, next));
  const add = (files: FileList | undefined | null): void => {
    if (files === undefined || files === null || files.length === 0) return;
    readFiles([...files], limits).then(
      (read) => {
        setAll((before) => {
          const added = [...(before.get(place) ?? first), ...read.pictures].slice(0, MAX_PICTURES);
          return new Map(before).set(place, added);
        });
        if (read.refusals.length > 0) chat.showNotice(read.refusals.join(" "));
      },
      () => chat.showNotice(t("The image could not be read.")),
    );
  };
  return { pictures, setPictures, add };
}

function FilePicker(props: { add: (files: FileList | null) => void }): VNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class="plain-icon" aria-label={t("Attach images")} onClick={() => input.current?.click()}>
        <Icon name="attach" />
      </button>
      <input
        ref={input}
        class="unseen"
        type="file"
        accept="image/*"
        multiple
        tabIndex={-1}
        aria-hidden="true"
        onChange={(event) => (props.add(event.currentTarget.files), (event.currentTarget.value = ""))}
      />
    </>
  );
}

function Thumbnails(props: { pictures: readonly Picture[]; remove: (index: number) => void }): VNode | null {
  if (props.pictures.length === 0) return null;
  return (
    <ul class="thumbnails" aria-label={t("Attached images")}>
      {props.pictures.map((picture, index) => (
        <li key={`${index}:${picture.name}`}>
          <img src={`data:${picture.mimeType};base64,${picture.data}`} alt={picture.name} />
          <button
            type="button"
            aria-label={t("Remove {name}", { name: picture.name })}
            onClick={() => props.remove(index)}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}

function SendButtons(props: { running: boolean; isEmpty: boolean; chat: Chat }): VNode {
  const { running, isEmpty, chat } = props;
  return (
    <div class="send-buttons">
      {running && (
        <button
          type="button"
          class="round stop"
          aria-label={t("Stop")}
          title={t("Stop (Escape)")}
          onClick={() => chat.abort()}
        >
          <StopIcon />
        </button>
      )}
      {(!running || !isEmpty) && (
        <button type="submit" class="round send" aria-label={t("Send")} title={t("Send (Enter)")} disabled={isEmpty}>
          <Icon name="send" />
        </button>
      )}
    </div>
  );
}
