import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { keyValue } from "../../config/draft.ts";
import { keyOf } from "../../config/form.ts";
import { foundKeys } from "../../config/search.ts";
import { keyAt, shapeOf, keyTitle, type NamedNode } from "../../config/shape.ts";
import { Pick, ViewFrame, type ViewProps } from "./view-parts.tsx";
import { Review, SavedNote } from "./config-review.tsx";
import { Help, KeyField, KeyFields } from "./config-field.tsx";
import { useConfig, type ConfigForm, type ReadForm } from "./use-config.ts";

/** The whole config as a form, with a look at what changes before it is saved. */
export function ConfigView(view: ViewProps): VNode {
  const read = useConfig(view);
  const { config, form } = read;
  const [section, setSection] = useState("gateway");
  const [query, setQuery] = useState("");
  const [which, setWhich] = useState<Which>("all");
  const [isReviewed, setReviewed] = useState(false);
  const saving = useSaving(read, () => setReviewed(false));
  useLeaveQuestion(form !== undefined && form.changes.length > 0);
  const show = (key = query): void => (setReviewed(false), setWhich("all"), setQuery(key));
  return (
    <ViewFrame
      tools={
        isReviewed ? undefined : (
          <>
            <Search query={query} search={setQuery} />
            <Pick label="Which keys" value={which} options={WHICH} choose={setWhich} />
          </>
        )
      }
      problems={[config.problem, read.problem, ...(config.answer?.issues ?? []).map(issueText)]}
      isRead={form !== undefined}
    >
      {saving.saved && !isReviewed && <SavedNote chat={view.chat} restart={saving.saved.restart} />}
      {form !== undefined && isReviewed && (
        <Review
          chat={view.chat}
          schema={form.schema}
          changes={form.changes}
          isSecret={form.isSecret}
          issues={form.state.issues}
          problem={saving.problem}
          isBusy={saving.isBusy}
          empty="Nothing: the file has all of it."
          save={saving.save}
          back={show}
        />
      )}
      {form !== undefined && !isReviewed && (
        <>
          {query.trim() === "" && which === "all" ? (
            <Sections form={form} section={section} choose={setSection} />
          ) : (
            <Found form={form} query={query} which={which} />
          )}
          <ChangeBar
            form={form}
            discard={read.discard}
            show={show}
            review={() => (saving.forget(), setReviewed(true))}
          />
        </>
      )}
    </ViewFrame>
  );
}

const WHICH = [
  ["all", "All keys"],
  ["set", "KeyFields of the file"],
  ["changed", "Changed keys"],
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
      aria-label="Search the keys"
      placeholder="A key, or words about it"
      value={query}
      onInput={(event) => search(event.currentTarget.value)}
    />
  );
}

interface Saving {
  readonly isBusy: boolean;
  readonly problem?: string;
  /** The last write, until the next change is looked at. */
  readonly saved?: { readonly restart: boolean };
}

function useSaving({ save }: ReadForm, done: () => void) {
  const [saving, setSaving] = useState<Saving>({ isBusy: false });
  const begin = async (): Promise<void> => {
    setSaving({ isBusy: true });
    const outcome = await save();
    if ("problem" in outcome) return setSaving({ isBusy: false, problem: outcome.problem });
    setSaving({ isBusy: false, saved: outcome });
    done();
  };
  return { ...saving, save: () => void begin(), forget: () => setSaving({ isBusy: false }) };
}

const issueText = ({ path, message }: { path: string; message: string }): string =>
  path === "" ? message : `${path}: ${message}`;

interface SectionsProps {
  readonly form: ConfigForm;
  readonly section: string;
  readonly choose: (section: string) => void;
}

function Sections({ form, section, choose }: SectionsProps): VNode {
  const shape = shapeOf(form.schema);
  const sections: readonly NamedNode[] = shape.kind === "group" ? shape.keys : [];
  const [name, node] = sections.find(([one]) => one === section) ?? sections[0] ?? ["", {}];
  const inside = shapeOf(node);
  return (
    <div class="config">
      <nav aria-label="Sections of the config">
        <ul>
          {sections.map(([one, about]) => (
            <li key={one}>
              <button type="button" aria-current={one === name ? "true" : undefined} onClick={() => choose(one)}>
                {keyTitle(about, one)}
                {form.isChanged([one]) && <span class="config-mark">changed</span>}
              </button>
            </li>
          ))}
        </ul>
      </nav>
      <section key={name} aria-label={keyTitle(node, name)}>
        <h2>
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

const MOST = 60;

interface FoundProps {
  readonly form: ConfigForm;
  readonly query: string;
  readonly which: Which;
}

/** KeyFields of all sections: those that have the words, among all, those of the file or those that are changed. */
function Found({ form, query, which }: FoundProps): VNode {
  const { schema, state, changes } = form;
  // The keys stay while their values are typed.
  const found = useMemo(() => foundKeys(schema, state.draft, query), [schema, query, state.hash]);
  const inFile = useMemo(() => found.filter((path) => keyValue(state.base, path) !== undefined), [found, state.base]);
  const ofChanges = changes.map(({ path }) => path).filter((path) => keyOf(path).includes(query.trim()));
  const shown = { all: found, set: inFile, changed: ofChanges }[which];
  return (
    <section class="config-found" aria-label="Found keys">
      <h2>{shown.length === 1 ? "1 key" : `${shown.length} keys`}</h2>
      {shown.slice(0, MOST).map((path) => (
        <KeyField key={keyOf(path)} form={form} path={path} node={keyAt(schema, path).node} isAlone />
      ))}
      {shown.length > MOST && <p class="hint">These are the first {MOST}. More words find fewer.</p>}
    </section>
  );
}

interface BarProps {
  readonly form: ConfigForm;
  readonly discard: () => void;
  /** Shows the field of a key. */
  readonly show: (key: string) => void;
  readonly review: () => void;
}

/** What is not saved yet, and what is wrong with it, in sight of every section. */
function ChangeBar({ form, discard, show, review }: BarProps): VNode | null {
  const { changes, problems, state } = form;
  if (changes.length === 0 && problems.length === 0) return null;
  const wrong = new Map([...state.issues, ...problems]);
  return (
    <div class="config-bar">
      <p role="status">{changes.length === 1 ? "1 change is" : `${changes.length} changes are`} not saved.</p>
      <button type="button" class="quiet" onClick={discard}>
        Discard
      </button>
      <button type="button" class="primary" disabled={problems.length > 0} onClick={review}>
        Look and save
      </button>
      {wrong.size > 0 && (
        <ul>
          {[...wrong].map(([key, problem]) => (
            <li key={key} class="view-row-error">
              <button type="button" class="link" onClick={() => show(key)}>
                {key === "" ? "The config" : key}
              </button>
              : {problem}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
