import type { VNode } from "preact";
import { useId } from "preact/hooks";
import { t } from "../../words/words.ts";

/** For the person, where the browser does not keep a choice. */
export const UNKEPT = t(
  "This browser keeps nothing for this page, so that the choice is lost when it is loaded again. Allow the page to keep data (cookies) in the settings of the browser.",
);

interface ChoiceProps {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly choose: (value: string) => void;
  readonly hint?: string | undefined;
  /** Why the gateway refused the value. */
  readonly error?: string | undefined;
}

/** A labelled select, with a hint or an error below. */
export function Choice(props: ChoiceProps): VNode {
  const { label, name, value, options, choose, hint, error } = props;
  const id = useId();
  return (
    <div>
      <label>
        {label}
        <select
          name={name}
          value={value}
          aria-invalid={error !== undefined}
          aria-describedby={id}
          onChange={(event) => choose(event.currentTarget.value)}
        >
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <Hint id={id} hint={hint} error={error} />
    </div>
  );
}

interface FieldProps {
  readonly name: string;
  readonly label: string;
  /** Whether the value is hidden by dots. */
  readonly secret?: boolean;
  readonly hint?: string | undefined;
  /** Why the gateway refused the value. */
  readonly error?: string | undefined;
  /** The value at first. */
  readonly value?: string | undefined;
  readonly placeholder?: string | undefined;
  readonly typed?: ((value: string) => void) | undefined;
}

/** A labelled text input, with a hint or an error below. */
export function Field(props: FieldProps): VNode {
  const { name, label, secret = false, hint, error, value, placeholder, typed } = props;
  const id = useId();
  const shared = {
    name,
    defaultValue: value,
    placeholder,
    autocomplete: "off",
    spellcheck: false,
    "aria-invalid": error !== undefined,
    "aria-describedby": id,
    onInput: ({ currentTarget }: InputEvent & { readonly currentTarget: HTMLInputElement }) =>
      typed?.(currentTarget.value),
  } as const;
  return (
    <div>
      <label>
        {label}
        {secret ? <input type="password" {...shared} /> : <input {...shared} />}
      </label>
      <Hint id={id} hint={hint} error={error} />
    </div>
  );
}

/** A labelled checkbox. */
export function Checkbox({ name, label }: { name: string; label: string }): VNode {
  return (
    <label class="tick">
      <input type="checkbox" name={name} />
      {label}
    </label>
  );
}

function Hint(props: { id: string; hint: string | undefined; error: string | undefined }): VNode {
  const { id, hint, error } = props;
  if (error === undefined)
    return (
      <p id={id} class="hint">
        {hint}
      </p>
    );
  return (
    <p id={id} class="field-problem" role="alert">
      {error}
    </p>
  );
}
