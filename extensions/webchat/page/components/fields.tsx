import type { VNode } from "preact";
import { useId } from "preact/hooks";

interface ChoiceProps {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, words: string])[];
  readonly choose: (value: string) => void;
  readonly hint?: string | undefined;
  /** Why the gateway did not take it. */
  readonly wrong?: string | undefined;
}

/** One of several, with what is to be known of it below. */
export function Choice(props: ChoiceProps): VNode {
  const { label, name, value, options, choose, hint, wrong } = props;
  const id = useId();
  return (
    <div>
      <label>
        {label}
        <select
          name={name}
          value={value}
          aria-invalid={wrong !== undefined}
          aria-describedby={id}
          onChange={(event) => choose(event.currentTarget.value)}
        >
          {options.map(([option, words]) => (
            <option key={option} value={option}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <Remark id={id} hint={hint} wrong={wrong} />
    </div>
  );
}

interface FieldProps {
  readonly name: string;
  readonly label: string;
  /** Shown as dots. */
  readonly secret?: boolean;
  readonly hint?: string | undefined;
  /** Why the gateway did not take it. */
  readonly wrong?: string | undefined;
}

/** A line to fill in, with what is wrong with it below. */
export function Field(props: FieldProps): VNode {
  const { name, label, secret = false, hint, wrong } = props;
  const id = useId();
  const same = {
    name,
    autocomplete: "off",
    spellcheck: false,
    "aria-invalid": wrong !== undefined,
    "aria-describedby": id,
  } as const;
  return (
    <div>
      <label>
        {label}
        {secret ? <input type="password" {...same} /> : <input {...same} />}
      </label>
      <Remark id={id} hint={hint} wrong={wrong} />
    </div>
  );
}

/** A box to tick. */
export function Tick({ name, label }: { name: string; label: string }): VNode {
  return (
    <label class="tick">
      <input type="checkbox" name={name} />
      {label}
    </label>
  );
}

function Remark(props: { id: string; hint: string | undefined; wrong: string | undefined }): VNode {
  const { id, hint, wrong } = props;
  if (wrong === undefined)
    return (
      <p id={id} class="hint">
        {hint}
      </p>
    );
  return (
    <p id={id} class="field-problem" role="alert">
      {wrong}
    </p>
  );
}
