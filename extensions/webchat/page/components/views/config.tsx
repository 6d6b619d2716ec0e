import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { keyValue } from "../../config/draft.ts";
import { keyOf, pathOfKey } from "../../config/form.ts";
import { foundKeys } from "../../config/search.ts";
import { hasKey, keyAt, shapeOf, keyTitle, type ConfigPath, type NamedNode } from "../../config/shape.ts";
import { Pick, ViewFrame, type ViewProps } from "./view-parts.tsx";
import { ChangeBar, Review, SavedNote } from "./config-review.tsx";
import { Help, KeyField, KeyFields } from "./config-field.tsx";
import { TextView } from "./config-text.tsx";
import { useConfigText } from "./use-config-text.ts";
import { useConfig, useSaving, type ConfigForm, type ReadForm } from "./use-config.ts";
import { t } from "../../words/words.ts";

const MODES = [
  ["form", t("As a form")],
  ["text", t("As text")],
] as const;

/** The whole config, as a form or as the text of its file, with a look at what changes before it is saved. */
export function ConfigView(view: ViewProps): VNode {
  const read = useConfig(view);
  const { config, form, problem } = read;
  const file = useConfigText(view, config);
  const [mode, setMode] = useState<"form" | "text">("form");
  const sought = view.state.shown.view === "config" ? view.state.shown.key : undefined;
  useEffect(() => {
    if (sought !== undefined) setMode("form");
  }, [sought]);
  const changes = form?.changes.length ?? 0;
  const isTextChanged = file?.isChanged === true;
  useLeaveQuestion(changes > 0 || isTextChanged);
  const problems = [config.problem, problem, ...(config.answer?.issues ?? []).map(issueText)];
  if (!form)
    return (
      <ViewFrame problems={problems} isRead={false}>
        {null}
      </ViewFrame>
    );
  const pick = <Pick label={t("How the config is shown")} value={mode} options={MODES} choose={setMode} />;
  const elsewhere = mode === "form" ? isTextChanged : changes > 0;
  const tools = (
    <>
      {pick}
      {elsewhere && (
        <p class="hint">
          {mode === "form"
            ? t("What is changed in the text is not saved.")
            : t("What is changed in the form is not saved.")}
        </p>
      )}
    </>
  );
  if (mode === "form") return <FormView view={view} read={read} form={form} tools={tools} problems={problems} />;
  return (
    <TextView
      view={view}
      form={form}
      file={file}
      issues={new Map((config.answer?.issues ?? []).map(({ path, message }) => [path, message]))}
      tools={tools}
    />
  );
}

interface FormViewProps {
  readonly view: ViewProps;
  readonly read: ReadForm;
  readonly form: ConfigForm;
  readonly tools: VNode;
  readonly problems: readonly (string | undefined)[];
}

/** The fields, and the look at what changes. */
function FormView({ view, read, form, tools, problems }: FormViewProps): VNode {
  const [query, setQuery] = useState("");
  const [which, setWhich] = useState<Which>("all");
  const [isReviewed, setReviewed] = useState(false);
  const { path, key: soughtKey } = useSoughtKey(view, () => (setQuery(""), setWhich("all"), setReviewed(false)));
  const saving = useSaving(read.save, () => setReviewed(false));
  const show = (key = query): void => (setReviewed(false), setWhich("all"), setQuery(key));
  if (isReviewed)
    return (
      <ViewFrame problems={problems} isRead>
        <Review
          chat={view.chat}
          schema={form.schema}
          changes={form.changes}
          isSecret={form.isSecret}
          issues={form.state.issues}
          problem={saving.problem}
          isBusy={saving.isBusy}
          empty={t("Nothing: the file has all of it.")}
          save={saving.save}
          back={show}
        />
      </ViewFrame>
    );
  return (
    <ViewFrame
      tools={
        <>
          <Search query={query} search={setQuery} />
          <Pick label={t("Which keys")} value={which} options={WHICH} choose={setWhich} />
          {tools}
        </>
      }
      problems={problems}
      isRead
    >
      {saving.saved && <SavedNote chat={view.chat} restart={saving.saved.restart} />}
      {query.trim() === "" && which === "all" ? (
        <Sections
          form={{ ...form, sought: path }}
          name={soughtKey}
          search={setQuery}
          choose={(one) => view.chat.visit("config", one)}
        />
      ) : (
        <Found form={form} query={query} which={which} />
      )}
      {form.changes.length + form.problems.length > 0 && (
        <ChangeBar
          words={t("{n} change is not saved.|{n} changes are not saved.", { n: form.changes.length })}
          problems={new Map([...form.state.issues, ...form.problems])}
          isBlocked={form.problems.length > 0}
          discard={read.discard}
          show={show}
          review={() => (saving.forget(), setReviewed(true))}
        />
      )}
    </ViewFrame>
  );
}

/** The path of the key that the address names, or named last; `found` is called for each new one. */
function useSoughtKey({ state: { shown } }: ViewProps, found: () => void): { path: ConfigPath; key?: string } {
  const [path, setPath] = useState<ConfigPath>(["gateway"]);
  const key = shown.view === "config" ? shown.key : undefined;
  useEffect(() => {
    if (key === undefined || pathOfKey(key).length === 0) return;
    setPath(pathOfKey(key));
    found();
  }, [key]);
  return { path, ...(key !== undefined && { key }) };
}

interface NoKeyProps extends Pick<SectionsProps, "form" | "search"> {
  readonly name: string;
}

/** Tells of an address that names a key which is not there, and leads to the search; nothing for a key that is there. */
function NoKey({ form: { schema, state, sought: path = [] }, name, search }: NoKeyProps): VNode | null {
  if (path.length > 0 && (hasKey(schema, path) || keyValue(state.draft, path) !== undefined)) return null;
  const words = String(path.at(-1) ?? name);
  return (
    <p class="outcome error" role="alert">
      {t("There is no key {name}.", { name })}{" "}
      <button type="button" class="quiet" onClick={() => search(words)}>
        {t("Search the keys for “{words}”", { words })}
      </button>
    </p>
  );
}

const WHICH = [
  ["all", t("All keys")],
  ["set", t("Keys of the file")],
  ["changed", t("Changed keys")],
] as const;
type Which = (typeof WHICH)[number][0];

/** The browser asks before it leaves the page while something is not saved. */
function useLeaveQuestion(isWanted: boolean): void {
  useEffect(() => {
    if (!isWanted) return undefined;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [isWanted]);
}

function Search({ query, search }: { readonly query: string; readonly search: (query: string) => void }): VNode {
  return (
    <input
      type="search"
      aria-label={t("Search the keys")}
      placeholder={t("A key, or words about it")}
      value={query}
      onInput={(event) => search(event.currentTarget.value)}
    />
  );
}

const issueText = ({ path, message }: { path: string; message: string }): string =>
  path === "" ? message : `${path}: ${message}`;

interface SectionsProps {
  readonly form: ConfigForm;
  /** The key as the address has it. */
  readonly name: string | undefined;
  readonly search: (words: string) => void;
  readonly choose: (section: string) => void;
}

function Sections({ form, name: sought, search, choose }: SectionsProps): VNode {
  const shape = shapeOf(form.schema);
  const sections: readonly NamedNode[] = shape.kind === "group" ? shape.keys : [];
  const [name, node] = sections.find(([one]) => one === String(form.sought?.[0])) ?? sections[0] ?? ["", {}];
  const inside = shapeOf(node);
  const heading = useSoughtSection(sought === undefined ? undefined : form.sought);
  return (
    <div class="config">
      <nav aria-label={t("Sections of the config")}>
        <ul>
          {sections.map(([one, about]) => (
            <li key={one}>
              <button type="button" aria-current={one === name ? "true" : undefined} onClick={() => choose(one)}>
                {keyTitle(about, one)}
                {form.isChanged([one]) && <span class="config-mark">{t("changed")}</span>}
              </button>
            </li>
          ))}
        </ul>
      </nav>
      <section key={name} aria-label={keyTitle(node, name)}>
        {sought !== undefined && <NoKey form={form} name={sought} search={search} />}
        <h2 ref={heading} tabIndex={-1}>
          {keyTitle(node, name)} <code>{name}</code>
        </h2>
        <Help node={node} />
        {inside.kind === "group" ? (
          <KeyFields form={form} path={[name]} keys={inside.keys} rest={inside.rest} />
        ) : (
          <KeyField form={form} path={[name]} node={node} />
        )}
      </section>
    </div>
  );
}

/** The heading of a section: that of a whole section which the address names is scrolled to and gets the focus. */
function useSoughtSection(path: ConfigPath | undefined) {
  const heading = useRef<HTMLHeadingElement>(null);
  const isWhole = path?.length === 1;
  useEffect(() => {
    // Who goes through the sections by their buttons keeps the place.
    if (!isWhole || document.activeElement?.closest(".config nav")) return;
    heading.current?.scrollIntoView({ block: "center" });
    heading.current?.focus({ preventScroll: true });
  }, [isWhole, path]);
  return heading;
}

const MOST = 60;

interface FoundProps {
  readonly form: ConfigForm;
  readonly query: string;
  readonly which: Which;
}

/** Keys of all sections: those that have the words, among all, those of the file or those that are changed. */
function Found({ form, query, which }: FoundProps): VNode {
  const { schema, state, changes } = form;
  // The keys stay while their values are typed.
  const found = useMemo(() => foundKeys(schema, state.draft, query), [schema, query, state.hash]);
  const inFile = useMemo(() => found.filter((path) => keyValue(state.base, path) !== undefined), [found, state.base]);
  const ofChanges = changes.map(({ path }) => path).filter((path) => keyOf(path).includes(query.trim()));
  const shown = { all: found, set: inFile, changed: ofChanges }[which];
  return (
    <section class="config-found" aria-label={t("Found keys")}>
      <h2>{t("{n} key|{n} keys", { n: shown.length })}</h2>
      {shown.slice(0, MOST).map((path) => (
        <KeyField key={keyOf(path)} form={form} path={path} node={keyAt(schema, path).node} isAlone />
      ))}
      {shown.length > MOST && <p class="hint">{t("These are the first {n}. More words find fewer.", { n: MOST })}</p>}
    </section>
  );
}
