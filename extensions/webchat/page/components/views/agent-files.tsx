import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { draftOf, hasDraftWith, keepDraft } from "../../model/address.ts";
import { fields, nonEmpty, ownText, readJsonText, stringOr } from "../../model/json.ts";
import { useNow } from "../common/hooks.ts";
import {
  ListRow,
  mayAsk,
  RowList,
  SureButton,
  useActing,
  useAnswer,
  ViewFrame,
  type ViewProps,
  when,
} from "./view-parts.tsx";
import { t } from "../../words/words.ts";

type File = Answers["agents.files.get"]["file"];

/** A run may write a file, and so may a person elsewhere. */
const CHANGED = { changedBy: ["sessions.changed"], isReadOnReturn: true };

const PURPOSES: Readonly<Record<string, string>> = {
  "AGENTS.md": t("how it works"),
  "SOUL.md": t("its character"),
  "TOOLS.md": t("notes about its tools"),
  "IDENTITY.md": t("its name and looks"),
  "USER.md": t("who you are"),
  "HEARTBEAT.md": t("what it looks after by itself"),
  "BOOTSTRAP.md": t("its first conversation, once"),
  "MEMORY.md": t("what it remembers; only your own chats have it"),
  "CLAUDE.md": t("how it works, as other programs name it"),
};

interface FilesProps {
  readonly view: ViewProps;
  readonly agentId: string;
  readonly name: string;
}

/** The files of an agent that are a part of its prompt. */
export function AgentFiles({ view, agentId, name }: FilesProps): VNode {
  const files = useAnswer(view, { method: "agents.files.list", params: { agentId }, ...CHANGED });
  return (
    <ViewFrame problems={[files.problem]} isRead={files.answer !== undefined}>
      <RowList title={t("Files of {name}", { name })} empty={t("It has none.")}>
        {(files.answer?.files ?? []).map((file) => (
          <FileRow key={file.name} view={view} agentId={agentId} file={file} written={files.again} />
        ))}
      </RowList>
    </ViewFrame>
  );
}

interface FileProps {
  readonly view: ViewProps;
  readonly agentId: string;
  readonly file: File;
  readonly written: () => void;
}

function FileRow(props: FileProps): VNode {
  const { agentId, file } = props;
  const now = useNow(60_000);
  const [isOpened, setOpened] = useState(() => readKept(agentId, file.name) !== undefined);
  return (
    <ListRow
      name={file.name}
      title={
        <button type="button" class="link" aria-expanded={isOpened} onClick={() => setOpened(!isOpened)}>
          {file.name}
        </button>
      }
      facts={[
        ownText(PURPOSES, file.name),
        file.missing ? t("not there") : t("{n} byte|{n} bytes", { n: file.size ?? 0 }),
        file.updatedAtMs === undefined ? undefined : when(file.updatedAtMs, now),
      ]}
    >
      {isOpened && <FileEditor {...props} />}
    </ListRow>
  );
}

/** A text that was typed and not saved, and the hash of the file in which it was begun; no hash for a missing file. */
interface Kept {
  readonly text: string;
  readonly hash: string | undefined;
}

const draftKey = (agentId: string, name = ""): string => `file:${agentId}:${name}`;

/** Whether a file of the agent has a text that was not saved. */
export const hasUnsaved = (agentId: string): boolean => hasDraftWith(draftKey(agentId));

function readKept(agentId: string, name: string): Kept | undefined {
  const raw = draftOf(draftKey(agentId, name));
  if (raw === "") return undefined;
  const { text, hash } = fields(readJsonText(raw));
  return { text: stringOr(text), hash: nonEmpty(hash) };
}

/** The text of a file as it can be edited: a field of the page has `\n` alone. */
const editable = (content: string): string => content.replaceAll("\r\n", "\n");

function useFile({ view, agentId, file: { name }, written }: FileProps) {
  const read = useAnswer(view, { method: "agents.files.get", params: { agentId, name }, ...CHANGED });
  const [file, setFile] = useState<File>();
  const [kept, setKept] = useState(() => readKept(agentId, name));
  const [isSaved, setSaved] = useState(false);
  const latest = useRef(kept);
  useEffect(() => {
    if (read.answer) setFile(read.answer.file);
  }, [read.answer]);
  const keep = (next: Kept | undefined): void => {
    keepDraft(draftKey(agentId, name), next === undefined ? "" : JSON.stringify(next));
    latest.current = next;
    setKept(next);
    setSaved(false);
  };
  const acting = useActing(() => (read.again(), written()));
  /** Writes the text, unless the file is another one by now than that with this hash. */
  const write = (text: string, hash: string | undefined): void =>
    acting.act(async () => {
      const isNew = hash === undefined;
      if (isNew) {
        const { file: now } = await view.chat.ask("agents.files.get", { agentId, name });
        if (!now.missing) throw new Error(t("Somebody has made the file since"));
      }
      const content = file?.content?.includes("\r\n") === true ? text.replaceAll("\n", "\r\n") : text;
      const params = { agentId, name, content, ...(!isNew && { expectedHash: hash }) };
      const { file: done } = await view.chat.ask("agents.files.set", params);
      setFile(done);
      // The person may have typed on meanwhile.
      const typed = latest.current?.text ?? text;
      keep(typed === text ? undefined : { text: typed, hash: done.hash });
      setSaved(typed === text);
    });
  return { file, kept, keep, write, isSaved, acting, problem: read.problem };
}

/** The text of a file. What is typed is kept in the tab until it is saved or dropped. */
function FileEditor(props: FileProps): VNode {
  const edit = useFile(props);
  const { file, kept, acting, problem } = edit;
  const isOther = file !== undefined && kept !== undefined && kept.hash !== file.hash;
  // The warning says more than the refusal.
  return (
    <ViewFrame problems={[problem, isOther ? undefined : acting.problem]} isRead={file !== undefined}>
      {file && <FileText {...edit} file={file} isOther={isOther} mayWrite={mayAsk(props.view, "agents.files.set")} />}
    </ViewFrame>
  );
}

interface TextProps extends ReturnType<typeof useFile> {
  readonly file: File;
  /** The file is another one than that in which the person began to type. */
  readonly isOther: boolean;
  readonly mayWrite: boolean;
}

function FileText(props: TextProps): VNode {
  const { file, kept, keep, write, acting, isOther, mayWrite } = props;
  const content = editable(file.content ?? "");
  const { text, hash } = kept ?? { text: content, hash: file.hash };
  const canSave = kept !== undefined && !isOther && !acting.isBusy;
  const save = (): void => {
    if (canSave) write(text, hash);
  };
  return (
    <>
      {isOther && (
        <Changed name={file.name} content={content} write={() => write(text, file.hash)} drop={() => keep(undefined)} />
      )}
      <textarea
        class="file-text"
        aria-label={t("Text of {name}", { name: file.name })}
        rows={16}
        spellcheck={false}
        readOnly={!mayWrite}
        value={text}
        onInput={({ currentTarget: { value } }) =>
          keep(value === content && !isOther ? undefined : { text: value, hash })
        }
        onKeyDown={(event) => {
          if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          save();
        }}
      />
      {mayWrite && <SaveBar {...props} canSave={canSave} save={save} />}
    </>
  );
}

function SaveBar(props: TextProps & { readonly canSave: boolean; readonly save: () => void }): VNode {
  const { kept, keep, isOther, isSaved, canSave, save } = props;
  return (
    <p class="channel-actions">
      <button type="button" class="primary" disabled={!canSave} onClick={save}>
        {t("Save")}
      </button>
      {kept !== undefined && !isOther && (
        <SureButton label={t("Drop my changes")} sure={t("Drop what I typed")} act={() => keep(undefined)} />
      )}
      <span class="hint" role="status">
        {kept === undefined ? isSaved && t("Saved.") : t("Not saved yet. It stays in this tab.")}
      </span>
    </p>
  );
}

interface ChangedProps {
  readonly name: string;
  readonly content: string;
  readonly write: () => void;
  readonly drop: () => void;
}

/** The warning that the file is another one than that in which the person began to type. */
function Changed({ name, content, write, drop }: ChangedProps): VNode {
  const [isShown, setShown] = useState(false);
  return (
    <div class="outcome error" role="alert">
      <p>{t("{name} was changed since you began to type. Your text is still here, and not saved.", { name })}</p>
      <p class="channel-actions">
        <button type="button" class="quiet" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
          {t("Show it as it is now")}
        </button>
        <SureButton label={t("Save mine in its place")} sure={t("Replace it by my text")} act={write} />
        <SureButton label={t("Drop mine")} sure={t("Drop what I typed")} act={drop} />
      </p>
      {isShown && (
        <pre class="file-now" role="region" tabIndex={0} aria-label={t("{name} as it is now", { name })}>
          {content}
        </pre>
      )}
    </div>
  );
}
