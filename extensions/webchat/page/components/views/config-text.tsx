import type { VNode } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { keyOf } from "../../config/form.ts";
import { lineOf, linesOfKeys } from "../../config/text.ts";
import { ChangeBar, Review, SavedNote } from "./config-review.tsx";
import { useSaving, type ConfigForm } from "./use-config.ts";
import { ActButton, ViewFrame, type ViewProps } from "./view-parts.tsx";
import type { ConfigText } from "./use-config-text.ts";
import { t } from "../../words/words.ts";

interface TextProps {
  readonly view: ViewProps;
  /** Knows the schema, and which keys are secrets. */
  readonly form: ConfigForm;
  /** Undefined where the gateway does not show the text. */
  readonly file: ConfigText | undefined;
  /** What is wrong with the file as it is, by key. */
  readonly issues: ReadonlyMap<string, string>;
  readonly tools: VNode;
}

/** The text of the file, and the look at what changes. */
export function TextView({ view, form, file, issues, tools }: TextProps): VNode {
  const [isReviewed, setReviewed] = useState(false);
  const [shown, setShown] = useState<string>();
  const saving = useSaving(file?.save ?? notShown, () => setReviewed(false));
  if (!file)
    return (
      <ViewFrame tools={tools} isRead>
        <p class="hint">{NOT_SHOWN}</p>
      </ViewFrame>
    );
  if (isReviewed)
    return (
      <ViewFrame isRead>
        <Review
          chat={view.chat}
          schema={form.schema}
          changes={file.changes}
          isSecret={form.isSecret}
          issues={file.issues}
          problem={saving.problem}
          isBusy={saving.isBusy}
          empty={t("No key: only comments or the layout differ.")}
          save={saving.save}
          back={(key) => (setReviewed(false), setShown(key))}
        />
      </ViewFrame>
    );
  return (
    <ViewFrame tools={tools} isRead>
      {saving.saved && <SavedNote chat={view.chat} restart={saving.saved.restart} />}
      <TextEditor file={file} issues={issues} shown={shown} />
      {file.isChanged && (
        <ChangeBar
          words={file.meanwhile ? t("Choose above which text counts.") : t("The text is changed and not saved.")}
          problems={NO_PROBLEMS}
          isBlocked={file.problem !== undefined || file.meanwhile !== undefined}
          discard={file.discard}
          show={setShown}
          review={() => (saving.forget(), setShown(undefined), setReviewed(true))}
        />
      )}
    </ViewFrame>
  );
}

const NO_PROBLEMS: ReadonlyMap<string, string> = new Map();
const NOT_SHOWN = t(
  "A comment of the file has a secret, so its text is not shown here. Change the config as a form, or the file on the gateway's machine.",
);
const notShown = async () => ({ problem: NOT_SHOWN });

interface EditorProps {
  readonly file: ConfigText;
  /** What is wrong with the file as it is, by key. */
  readonly issues: ReadonlyMap<string, string>;
  /** A key whose line is to be shown. */
  readonly shown: string | undefined;
}

/** The text of the config file, with its lines and what is wrong in them. */
function TextEditor({ file, issues, shown }: EditorProps): VNode {
  const field = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  const { text, problem } = file;
  const lines = text.split("\n");
  const places = useMemo(() => linesOfKeys(text), [text]);
  const show = (line: number, column?: number): void => showLine(field.current, line, column);
  useEffect(() => {
    if (shown !== undefined && shown !== "") show(lineOf(places, shown));
  }, [shown]);
  const wrong = [...(file.issues.size > 0 || file.isChanged ? file.issues : issues)];
  return (
    <section aria-label={t("Text of the config")} class="config-text">
      <Meanwhile file={file} />
      <div id={id} role="status">
        <ul>
          {problem && (
            <li class="view-row-error">
              <LineButton line={problem.line} show={() => show(problem.line, problem.column)} />: {problem.message}.
            </li>
          )}
          {!problem &&
            wrong.map(([key, message]) => (
              <li key={key} class="view-row-error">
                <LineButton line={lineOf(places, key)} show={() => show(lineOf(places, key))} />: {key} {message}
              </li>
            ))}
        </ul>
      </div>
      <div class="config-lines">
        <pre aria-hidden="true">{lines.map((_line, at) => at + 1).join("\n")}</pre>
        <textarea
          ref={field}
          aria-label={t("Text of the config")}
          aria-describedby={id}
          aria-invalid={problem !== undefined}
          rows={lines.length}
          wrap="off"
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={(event) => file.write(event.currentTarget.value)}
        />
      </div>
    </section>
  );
}

const LineButton = ({ line, show }: { readonly line: number; readonly show: () => void }): VNode => (
  <button type="button" class="link" onClick={show}>
    {t("Line {line}", { line: String(line) })}
  </button>
);

/** Puts the cursor into a line and the line into sight. */
function showLine(field: HTMLTextAreaElement | null, line: number, column = 1): void {
  if (!field) return;
  const before = field.value.split("\n").slice(0, line - 1);
  const start = before.reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
  field.focus({ preventScroll: true });
  field.setSelectionRange(start, start);
  const height = field.clientHeight / Math.max(1, field.rows);
  const view = field.closest(".view");
  const top = field.getBoundingClientRect().top + height * (line - 1);
  view?.scrollBy({ top: top - view.getBoundingClientRect().top - view.clientHeight / 3 });
}

/** Says that somebody else wrote the file, and lets the person choose a text. */
function Meanwhile({ file }: { readonly file: ConfigText }): VNode | null {
  const { meanwhile, discard, keep } = file;
  if (meanwhile === undefined) return null;
  const keys = meanwhile.map(({ path }) => keyOf(path));
  return (
    <div class="outcome error" role="alert">
      <p>
        {t("The file changed meanwhile, and your text is kept.")} {changedText(keys)}
      </p>
      <p class="config-acts">
        <ActButton label={t("Take the text of the file")} act={discard} />
        <ActButton label={t("Go on with my text")} act={keep} />
      </p>
    </div>
  );
}

const MOST_NAMED = 5;

function changedText(keys: readonly string[]): string {
  if (keys.length === 0) return "";
  const named = keys.slice(0, MOST_NAMED).join(", ");
  const n = keys.length - MOST_NAMED;
  return n > 0 ? t("Changed: {keys} and {n} more.", { keys: named, n }) : t("Changed: {keys}.", { keys: named });
}
