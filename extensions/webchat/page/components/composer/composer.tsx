import type { VNode } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { newId } from "../../browser/ids.ts";
import type { Chat } from "../../model/chat.ts";
import { withModels, type CommandRow } from "../../model/commands.ts";
import { draftOf, draftPlace, keepDraft } from "../../model/address.ts";
import type { PageFile } from "../../model/files.ts";
import { chatApp } from "../../model/format.ts";
import { isAvailable, type Limits } from "../../model/protocol.ts";
import type { PageState } from "../../model/state.ts";
import { useLoaded } from "../common/hooks.ts";
import { Icon, StopIcon } from "../common/icons.tsx";
import { fullName, ModelPicker, ThinkingChoice } from "./choices.tsx";
import { MessageField } from "./message-field.tsx";
import { t } from "../../words/words.ts";
import { useDroppedFiles, useFiles, type WrittenFiles } from "./use-files.ts";

/** Until the gateway has told its own. */
const LIMITS: Limits = { payload: 26_214_400, attachment: 16_777_216, image: 8_388_608 };

/** The input for messages. Enter sends, Shift+Enter starts a new line; files can be pasted, dropped, chosen and recorded. */
export function Composer(props: { state: PageState; chat: Chat; running: boolean }): VNode {
  const { state, chat, running } = props;
  const { sessionKey } = state;
  const { editing, givenBack } = state.composing;
  const place = draftPlace(sessionKey, editing);
  const [draft, setDraft] = useDraft(place, givenBack);
  const limits = state.hello?.limits ?? LIMITS;
  const written = useFiles(limits, chat, { place, first: editing?.files ?? NO_FILES });
  const { files, setFiles, add } = written;
  const isOver = useDroppedFiles(state.shown.view === undefined, add);
  const chips = useLoaded(files.length > 0, () => import("../turns/files.tsx"));
  const commands = useCommands(state);
  const isEmpty = draft.trim() === "" && files.length === 0;
  const send = (): void => {
    if (isEmpty) return;
    if (editing !== undefined) return chat.replace(editing.entryId, draft.trim(), files);
    chat.send(draft.trim(), files);
    setDraft("");
    setFiles([]);
  };
  return (
    <form
      class="composer column"
      onSubmit={(event) => (event.preventDefault(), send())}
      onPaste={(event) => add(event.clipboardData?.files)}
    >
      {editing !== undefined && <EditNote chat={chat} />}
      {isOver && <p class="drop-here">{t("Drop the files to attach them")}</p>}
      {files.length > 0 && chips !== undefined && (
        <chips.AttachedFiles files={files} remove={(file) => setFiles(files.filter((other) => other !== file))} />
      )}
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
        <VoiceButton chat={chat} limit={limits.attachment} written={written} />
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
    if (attempt.current.of !== sessionKey + text) attempt.current = { of: sessionKey + text, key: newId() };
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

const NO_FILES: readonly PageFile[] = [];

function FilePicker(props: { add: (files: FileList | null) => void }): VNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        class="plain-icon"
        aria-label={t("Attach files")}
        title={t("Attach files")}
        onClick={() => input.current?.click()}
      >
        <Icon name="attach" />
      </button>
      <input
        ref={input}
        class="unseen"
        type="file"
        multiple
        tabIndex={-1}
        aria-hidden="true"
        onChange={(event) => (props.add(event.currentTarget.files), (event.currentTarget.value = ""))}
      />
    </>
  );
}

/** Records a voice message in place of the buttons; the code for it is loaded when it is wanted first. */
function VoiceButton(props: { chat: Chat; limit: number; written: WrittenFiles }): VNode {
  const { chat, limit, written } = props;
  const [isWanted, setIsWanted] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const recorder = useLoaded(
    isWanted,
    () => import("./recorder.tsx"),
    () => setIsWanted(false),
  );
  const ended = (isMade: boolean): void => {
    setIsWanted(false);
    const field = button.current?.form?.querySelector("textarea");
    (isMade ? field : button.current)?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class="plain-icon"
        aria-label={t("Record a voice message")}
        title={t("Record a voice message")}
        onClick={() => setIsWanted(true)}
      >
        <Icon name="mic" />
      </button>
      {isWanted && recorder !== undefined && (
        <recorder.Recorder
          limit={limit}
          recorded={written.addRecording}
          tell={(text) => chat.showNotice(text)}
          ended={ended}
        />
      )}
    </>
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
