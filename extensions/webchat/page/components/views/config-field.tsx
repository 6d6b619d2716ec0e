import type { VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { shownValue, keyValue } from "../../config/draft.ts";
import { keyOf } from "../../config/form.ts";
import {
  blankOf,
  keyHelp,
  limitsText,
  shapeOf,
  keyTitle,
  variantName,
  variantOf,
  type ConfigPath,
  type NamedNode,
  type SchemaNode,
  type KeyShape,
} from "../../config/shape.ts";
import { isRecord, list } from "../../model/json.ts";
import { ActButton } from "./view-parts.tsx";
import { KeyInput } from "./config-input.tsx";
import type { ConfigForm } from "./use-config.ts";
import { rich } from "../../words/rich.ts";
import { t } from "../../words/words.ts";

interface FieldProps {
  readonly form: ConfigForm;
  readonly path: ConfigPath;
  readonly node: SchemaNode;
  /** Its whole path instead of its name, where it stands alone. */
  readonly isAlone?: boolean;
  /** Takes an entry out of its map or list. */
  readonly remove?: (() => void) | undefined;
}

/** A key of the config: a field, or a group of keys that can be opened. */
export function KeyField(props: FieldProps): VNode {
  const shape = shapeOf(props.node);
  if (shape.kind === "group") return <Group {...props} keys={shape.keys} rest={shape.rest} />;
  if (shape.kind === "items") return <Items {...props} item={shape.item} />;
  return <Leaf {...props} shape={shape} />;
}

function Leaf(props: FieldProps & { readonly shape: KeyShape }): VNode {
  const { form, path, node, shape, isAlone = false, remove } = props;
  const id = useId();
  const value = form.valueOf(path);
  const typed = form.state.typed.get(keyOf(path));
  const problem = typed?.problem ?? form.state.issues.get(keyOf(path));
  const title = keyTitle(node, path.at(-1) ?? "");
  const isChanged = form.isChanged(path);
  const place = useSought<HTMLDivElement>(form, path);
  return (
    <div ref={place} class={isChanged ? "config-key changed" : "config-key"}>
      <div class="config-key-head">
        <label for={id}>{title}</label>
        <code>{isAlone ? keyOf(path) : path.at(-1)}</code>
        {isChanged && <span class="config-mark">{t("changed")}</span>}
        <span class="config-key-acts">
          {isChanged && (
            <ActButton
              label={t("Undo")}
              name={t("Undo the change of {title}", { title })}
              act={() => form.undo(path)}
            />
          )}
          {remove === undefined && value !== undefined && (
            <ActButton
              label={resetLabel(node)}
              name={`${resetLabel(node)}: ${title}`}
              act={() => form.set(path, undefined)}
            />
          )}
          {remove && (
            <ActButton label={t("Remove")} name={t("Remove {title}", { title })} kind="quiet danger" act={remove} />
          )}
        </span>
      </div>
      {shape.kind === "variants" ? (
        <Variants {...props} variants={shape.variants} id={id} />
      ) : (
        <Input form={form} path={path} node={node} shape={shape} id={id} isInvalid={problem !== undefined} />
      )}
      <p id={`${id}-hint`} class="hint">
        <Words text={[keyHelp(node), ...factsOf(node, shape, value)].filter((part) => part !== "").join(" ")} />
      </p>
      {problem !== undefined && (
        <p class="field-problem" role="alert">
          {problem}
        </p>
      )}
      <Clash form={form} path={path} />
    </div>
  );
}

/** Whether the key that the address names is this one or below it. */
const isAbove = ({ sought = [] }: ConfigForm, path: ConfigPath): boolean =>
  sought.length > 1 && sought.length >= path.length && path.every((name, at) => String(name) === String(sought[at]));

/** The element of a key: of the one that the address names, the field or the title of the group is scrolled to and gets the focus. */
function useSought<Place extends HTMLElement>(form: ConfigForm, path: ConfigPath) {
  const place = useRef<Place>(null);
  const isSought = isAbove(form, path) && form.sought?.length === path.length;
  useEffect(() => {
    if (!isSought) return;
    const control = place.current?.querySelector<HTMLElement>("input, select, textarea, summary");
    // An open group may be taller than the window: its middle is not where its title is.
    (control ?? place.current)?.scrollIntoView({ block: "center" });
    control?.focus({ preventScroll: true });
  }, [isSought, form.sought]);
  return place;
}

/** Whether the group of a key is open: the person opens and closes it, and it opens for the key that the address names. */
function useOpen(form: ConfigForm, path: ConfigPath) {
  const isWanted = isAbove(form, path);
  const [isOpen, setOpen] = useState(isWanted);
  useEffect(() => {
    if (isWanted) setOpen(true);
  }, [isWanted, form.sought]);
  return [isOpen, setOpen] as const;
}

/** A description of the schema, whose names of keys and values stand in backticks. */
export function Help({ node }: { readonly node: SchemaNode }): VNode | null {
  const text = keyHelp(node);
  if (text === "") return null;
  return (
    <p class="hint">
      <Words text={text} />
    </p>
  );
}

const Words = ({ text }: { readonly text: string }): VNode => (
  <>{text.split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>
);

const resetLabel = (node: SchemaNode): string => ("default" in node ? t("Use the default") : t("Take out"));

/** The limits and the default of a key, and whether the default is in force. */
function factsOf(node: SchemaNode, shape: KeyShape, value: unknown): readonly string[] {
  const limits = shape.kind === "number" ? limitsText(shape.limits) : "";
  const words = "default" in node ? t("Default: {value}.", { value: shownValue(node["default"]) }) : "";
  const isUnset = value === undefined && !("default" in node) && shape.kind !== "choice";
  return [limits === "" ? "" : t("A number {limits}.", { limits }), words, isUnset ? t("Not set.") : ""];
}

interface OneInput extends Pick<FieldProps, "form" | "path" | "node"> {
  readonly shape: KeyShape;
  readonly id: string;
  readonly isInvalid: boolean;
}

const Input = ({ form, path, node, shape, id, isInvalid }: OneInput): VNode => (
  <KeyInput
    id={id}
    describedBy={`${id}-hint`}
    isInvalid={isInvalid}
    shape={shape}
    node={node}
    value={form.valueOf(path)}
    typed={form.state.typed.get(keyOf(path))}
    isSecret={form.isSecret(path)}
    set={(value, typed) => form.set(path, value, typed)}
    setProblem={(typed) => form.setProblem(path, typed)}
    undo={() => form.undo(path)}
  />
);

/** A key whose value can be of several kinds. */
function Variants(props: FieldProps & { readonly variants: readonly SchemaNode[]; readonly id: string }): VNode {
  const { form, path, variants, id } = props;
  const at = variantOf(form.valueOf(path), variants);
  const variant = variants[at] ?? {};
  const shape = shapeOf(variant);
  // The default and the title belong to the key.
  const node = { ...props.node, ...variant, anyOf: undefined };
  return (
    <>
      <select
        id={shape.kind === "group" ? id : undefined}
        aria-label={t("Kind of {key}", { key: keyTitle(props.node, path.at(-1) ?? "") })}
        value={String(at)}
        onChange={(event) => form.set(path, blankOf(variants[Number(event.currentTarget.value)] ?? {}))}
      >
        {variants.map((one, index) => (
          <option key={index} value={String(index)}>
            {variantName(one)}
          </option>
        ))}
      </select>
      {shape.kind === "group" ? (
        <KeyFields form={form} path={path} keys={shape.keys} rest={shape.rest} />
      ) : (
        <Input form={form} path={path} node={node} shape={shape} id={id} isInvalid={false} />
      )}
    </>
  );
}

function Clash({ form, path }: Pick<FieldProps, "form" | "path">): VNode | null {
  const clash = form.state.clashes.get(keyOf(path));
  if (!clash) return null;
  return (
    <p class="field-problem">
      {rich(
        "Changed in the file meanwhile, from {before} to {after}. Saving puts your value in its place; {undo} takes that of the file.",
        { before: shownValue(clash.before), after: shownValue(clash.after), undo: <i>{t("Undo")}</i> },
      )}
    </p>
  );
}

/** A key with keys below it. What is closed is not drawn. */
function Group(
  props: FieldProps & { readonly keys: readonly NamedNode[]; readonly rest: SchemaNode | undefined },
): VNode {
  const { form, path, node, keys, rest, isAlone = false, remove } = props;
  const [isOpen, setOpen] = useOpen(form, path);
  const place = useSought<HTMLDetailsElement>(form, path);
  const value = form.valueOf(path);
  const title = keyTitle(node, path.at(-1) ?? "");
  const count = isRecord(value) ? Object.keys(value).length : 0;
  return (
    <details ref={place} class="config-group" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{title}</strong> <code>{isAlone ? keyOf(path) : path.at(-1)}</code>
        {form.isChanged(path) && <span class="config-mark">{t("changed")}</span>}
        {count > 0 && <span class="config-count">{t("{n} set", { n: count })}</span>}
      </summary>
      {isOpen && (
        <div class="config-inside">
          <Help node={node} />
          <KeyFields form={form} path={path} keys={keys} rest={rest} />
          {remove && <ActButton label={t("Remove {title}", { title })} kind="quiet danger" act={remove} />}
        </div>
      )}
    </details>
  );
}

interface KeysProps extends Pick<FieldProps, "form" | "path"> {
  readonly keys: readonly NamedNode[];
  readonly rest: SchemaNode | undefined;
}

/** The keys of a group: first the single ones, then groups, then the entries that people name. */
export function KeyFields({ form, path, keys, rest }: KeysProps): VNode {
  const isGroup = ([, node]: NamedNode): boolean => ["group", "items"].includes(shapeOf(node).kind);
  const value = form.valueOf(path);
  const own = isRecord(value) ? Object.keys(value) : [];
  const entries = own.filter((name) => keys.every(([known]) => known !== name));
  return (
    <>
      {[...keys.filter((key) => !isGroup(key)), ...keys.filter(isGroup)].map(([name, node]) => (
        <KeyField key={name} form={form} path={[...path, name]} node={node} />
      ))}
      {entries.map((name) => (
        <KeyField
          key={`entry:${name}`}
          form={form}
          path={[...path, name]}
          node={entryNode(rest, name)}
          remove={() => form.set([...path, name], undefined)}
        />
      ))}
      {rest !== undefined && (
        <NewEntry form={form} path={path} rest={rest} taken={[...own, ...keys.map(([name]) => name)]} />
      )}
    </>
  );
}

/** An entry bears its own name; a key that the schema does not know is JSON. */
const entryNode = (rest: SchemaNode | undefined, name: string): SchemaNode => ({ ...rest, title: name });

interface NewProps extends Pick<FieldProps, "form" | "path"> {
  readonly rest: SchemaNode;
  readonly taken: readonly string[];
}

function NewEntry({ form, path, rest, taken }: NewProps): VNode {
  const [name, setName] = useState("");
  const id = useId();
  const clean = name.trim();
  const isTaken = taken.includes(clean);
  const add = (): void => {
    if (clean === "" || isTaken) return;
    form.set([...path, clean], blankOf(rest));
    setName("");
  };
  return (
    <form class="config-new" onSubmit={(event) => (event.preventDefault(), add())}>
      <label for={id}>{t("New entry of {key}", { key: keyOf(path) })}</label>
      <input
        id={id}
        value={name}
        placeholder={t("name")}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit" class="quiet">
        {t("Add")}
      </button>
      {isTaken && (
        <p class="field-problem" role="alert">
          {t("This name is taken.")}
        </p>
      )}
    </form>
  );
}

/** A list of groups. */
function Items(props: FieldProps & { readonly item: SchemaNode }): VNode {
  const { form, path, node, item, isAlone = false } = props;
  const [isOpen, setOpen] = useOpen(form, path);
  const place = useSought<HTMLDetailsElement>(form, path);
  const items = list(form.valueOf(path));
  const problem = form.state.issues.get(keyOf(path));
  return (
    <details ref={place} class="config-group" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{keyTitle(node, path.at(-1) ?? "")}</strong> <code>{isAlone ? keyOf(path) : path.at(-1)}</code>
        {form.isChanged(path) && <span class="config-mark">{t("changed")}</span>}
        <span class="config-count">{t("{n} item|{n} items", { n: items.length })}</span>
      </summary>
      {isOpen && (
        <div class="config-inside">
          <Help node={node} />
          {problem !== undefined && <p class="field-problem">{problem}</p>}
          <Clash form={form} path={path} />
          {items.map((value, at) => (
            <KeyField
              key={at}
              form={form}
              path={[...path, at]}
              node={{ ...item, title: itemTitle(value, at) }}
              remove={() => form.set(path, items.toSpliced(at, 1))}
            />
          ))}
          <ActButton label={t("Add an item")} act={() => form.set([...path, items.length], blankOf(item))} />
        </div>
      )}
    </details>
  );
}

/** What an item is called: its id or name, else its place. */
function itemTitle(value: unknown, at: number): string {
  const names = ["id", "name", "title", "key"].map((name) => keyValue(value, [name]));
  const found = names.find((name) => typeof name === "string" && name !== "");
  return typeof found === "string" ? found : t("Item {at}", { at: at + 1 });
}
