import JSON5 from "json5";
import type { VNode } from "preact";
import { HIDDEN, shownValue } from "../../config/draft.ts";
import type { Typed } from "../../config/form.ts";
import { numberFrom, type SchemaNode, type NumberLimits, type KeyShape } from "../../config/shape.ts";
import { list } from "../../model/json.ts";
import { t } from "../../words/words.ts";

/** What a field of one key shows and tells. */
export interface InputProps {
  readonly id: string;
  readonly describedBy: string;
  readonly isInvalid: boolean;
  readonly shape: KeyShape;
  readonly node: SchemaNode;
  readonly value: unknown;
  readonly typed: Typed | undefined;
  readonly isSecret: boolean;
  /** A value, or `undefined` for none. */
  readonly set: (value: unknown, typed?: Typed) => void;
  readonly setProblem: (typed: Typed) => void;
  /** Back to the value of the file. */
  readonly undo: () => void;
}

/** The field of one key, by the kind of its value. */
export function KeyInput(props: InputProps): VNode {
  switch (props.shape.kind) {
    case "switch":
      return <SwitchInput {...props} />;
    case "choice":
      return <ChoiceInput {...props} options={props.shape.options} />;
    case "number":
      return <NumberInput {...props} limits={props.shape.limits} />;
    case "lines":
      return <LinesInput {...props} isNumbers={props.shape.isNumbers} />;
    case "text":
      return <TextInput {...props} />;
    case "fixed":
      return <span id={props.id}>{shownValue(props.shape.value)}</span>;
    default:
      return <JsonInput {...props} />;
  }
}

const shared = ({ id, describedBy, isInvalid }: InputProps) =>
  ({ id, "aria-describedby": describedBy, "aria-invalid": isInvalid }) as const;

function SwitchInput(props: InputProps): VNode {
  const { value, node, set } = props;
  return (
    <input
      {...shared(props)}
      type="checkbox"
      role="switch"
      checked={(value ?? node["default"]) === true}
      onChange={(event) => set(event.currentTarget.checked)}
    />
  );
}

const NOT_SET = "";

function ChoiceInput(props: InputProps & { readonly options: readonly string[] }): VNode {
  const { value, node, options, set } = props;
  const shown = typeof value === "string" ? value : NOT_SET;
  const known = shown === NOT_SET || options.includes(shown) ? options : [shown, ...options];
  return (
    <select
      {...shared(props)}
      value={shown}
      onChange={({ currentTarget }) => set(currentTarget.value === NOT_SET ? undefined : currentTarget.value)}
    >
      <option value={NOT_SET}>
        {"default" in node ? t("Default: {value}", { value: shownValue(node["default"]) }) : t("Not set")}
      </option>
      {known.map((option) => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  );
}

function NumberInput(props: InputProps & { readonly limits: NumberLimits }): VNode {
  const { value, typed, node, limits, set, setProblem } = props;
  const changed = (field: HTMLInputElement): void => {
    const text = field.value;
    // A browser hides what it takes for no number.
    if (text === "" && !field.validity.badInput) return set(undefined);
    const read = numberFrom(text, limits);
    if ("problem" in read) setProblem({ text, problem: read.problem });
    else set(read.value, { text });
  };
  return (
    <input
      {...shared(props)}
      type="number"
      min={limits.min}
      max={limits.max}
      step={limits.isWhole ? 1 : "any"}
      value={typed?.text ?? (typeof value === "number" ? String(value) : "")}
      placeholder={defaultText(node)}
      onInput={(event) => changed(event.currentTarget)}
    />
  );
}

const defaultText = (node: SchemaNode): string => ("default" in node ? shownValue(node["default"]) : "");

function TextInput(props: InputProps): VNode {
  const { value, node, isSecret, set, undo } = props;
  const isHidden = value === HIDDEN;
  const text = isHidden || value === undefined ? "" : textOf(value);
  const changed = (next: string): void => {
    // A hidden value stays until another one is there.
    if (next !== "") return set(next);
    if (isSecret || isHidden) return undo();
    set(typeof node["default"] === "string" && node["default"] !== "" ? next : undefined);
  };
  const field = {
    ...shared(props),
    value: text,
    autocomplete: "off",
    spellcheck: false,
    placeholder: isHidden ? t("A value is stored; it is not shown.") : defaultText(node),
  } as const;
  const isReference = /^\$\{\w+\}$/.test(text);
  if (isSecret && !isReference)
    return <input {...field} type="password" onInput={(event) => changed(event.currentTarget.value)} />;
  return <textarea {...field} rows={1} onInput={(event) => changed(event.currentTarget.value)} />;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function LinesInput(props: InputProps & { readonly isNumbers: boolean }): VNode {
  const { value, typed, node, isNumbers, set, setProblem } = props;
  const items = list(value);
  const changed = (text: string): void => {
    const lines = text.split("\n").map((line) => line.trim());
    const kept = lines.filter((line) => line !== "");
    if (isNumbers && kept.some((line) => !Number.isFinite(Number(line))))
      return setProblem({ text, problem: t("Each line has to be a number.") });
    set(kept.length === 0 && value === undefined ? undefined : kept.map((line) => itemOf(line, items, isNumbers)), {
      text,
    });
  };
  const text = typed?.text ?? items.map(textOf).join("\n");
  return (
    <textarea
      {...shared(props)}
      rows={Math.min(8, Math.max(2, text.split("\n").length))}
      value={text}
      placeholder={list(node["default"]).map(textOf).join("\n")}
      spellcheck={false}
      onInput={(event) => changed(event.currentTarget.value)}
    />
  );
}

/** An item that was there keeps its type: an id can be a number or a text. */
const itemOf = (line: string, before: readonly unknown[], isNumber: boolean): unknown =>
  before.find((item) => textOf(item) === line) ?? (isNumber ? Number(line) : line);

function JsonInput(props: InputProps): VNode {
  const { value, typed, set, setProblem } = props;
  const text = typed?.text ?? (value === undefined ? "" : JSON.stringify(value, null, 2));
  const changed = (next: string): void => {
    if (next.trim() === "") return set(undefined, { text: next });
    try {
      set(JSON5.parse<unknown>(next), { text: next });
    } catch (error) {
      setProblem({
        text: next,
        problem: error instanceof Error ? error.message.replace(/^JSON5: /, "") : t("This is no JSON5."),
      });
    }
  };
  return (
    <textarea
      {...shared(props)}
      class="config-json"
      rows={Math.min(12, Math.max(2, text.split("\n").length))}
      value={text}
      placeholder="JSON5"
      spellcheck={false}
      onInput={(event) => changed(event.currentTarget.value)}
    />
  );
}
