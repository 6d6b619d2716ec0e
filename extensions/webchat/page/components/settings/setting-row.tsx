import type { VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import {
  choicesOf,
  wholeNumberIn,
  valueText,
  type Setting,
  type SettingText,
  type SettingValue,
} from "../../settings/settings.ts";
import { t } from "../../words/words.ts";

interface RowProps {
  readonly text: SettingText;
  readonly setting: Setting;
  /** A value that is being stored. */
  readonly pending: SettingValue | undefined;
  /** Why the gateway refused the last value. */
  readonly refusal: string | undefined;
  readonly change: (value: SettingValue) => void;
}

/** A setting: its value in force, where that comes from, and a way back to the default. */
export function SettingRow(props: RowProps): VNode {
  const { text, setting, pending, refusal, change } = props;
  const isOwn = setting.source === "session";
  const id = useId();
  const alert = useRef<HTMLParagraphElement>(null);
  useEffect(() => alert.current?.scrollIntoView({ block: "nearest" }), [refusal]);
  const control = { id, isRefused: refusal !== undefined, change };
  return (
    <div class={isOwn ? "setting own" : "setting"}>
      <label for={id}>{text.label}</label>
      {setting.range === undefined ? (
        <Words {...control} shown={pending ?? setting.value} text={text} setting={setting} />
      ) : (
        <Amount {...control} shown={setting.value} range={setting.range} />
      )}
      {refusal !== undefined && (
        <p ref={alert} class="field-problem" role="alert">
          {refusal}
        </p>
      )}
      <p class="setting-source" id={`${id}-source`}>
        {isOwn ? t("Set for this session") : t("Default")}
        {isOwn && (
          <button type="button" class="link" disabled={pending !== undefined} onClick={() => change(null)}>
            {t("Use the default")}
            {setting.default !== null && `: ${setting.default}`}
            <span class="unseen"> {t("for {setting}", { setting: text.label })}</span>
          </button>
        )}
      </p>
    </div>
  );
}

interface ControlProps {
  readonly id: string;
  readonly shown: SettingValue;
  readonly isRefused: boolean;
  readonly change: (value: SettingValue) => void;
}

function Words(props: ControlProps & { text: SettingText; setting: Setting }): VNode {
  const { id, shown, isRefused, change, text, setting } = props;
  return (
    <select
      id={id}
      value={shown ?? ""}
      aria-invalid={isRefused}
      aria-describedby={`${id}-source`}
      onChange={(event) => change(event.currentTarget.value)}
    >
      {shown === null && <option value="">{valueText(null, text)}</option>}
      {choicesOf(setting).map((choice) => (
        <option key={choice} value={choice}>
          {valueText(choice, text)}
        </option>
      ))}
    </select>
  );
}

/** A number. It is stored when the person leaves the field or presses Enter; a refused one stays there to be corrected. */
function Amount(props: ControlProps & { range: readonly number[] }): VNode {
  const { id, shown, isRefused, change, range } = props;
  const [least, most] = range;
  const [written, setWritten] = useState<string>();
  const sent = useRef<number | undefined>(undefined);
  useEffect(() => setWritten(undefined), [shown]);
  const value = written ?? String(shown ?? "");
  const store = (): void => {
    const wanted = wholeNumberIn(value);
    if (wanted === undefined || wanted === shown) return setWritten(undefined);
    if (wanted === sent.current) return;
    sent.current = wanted;
    change(wanted);
  };
  return (
    <input
      id={id}
      inputMode="numeric"
      autocomplete="off"
      value={value}
      title={t("From {least} to {most}", { least: least ?? "", most: most ?? "" })}
      aria-invalid={isRefused}
      aria-describedby={`${id}-source`}
      onInput={(event) => {
        sent.current = undefined;
        setWritten(event.currentTarget.value);
      }}
      onBlur={store}
      onKeyDown={(event) => event.key === "Enter" && (event.preventDefault(), store())}
    />
  );
}
