import type { VNode } from "preact";
import { addressOf } from "../../model/address.ts";
import { isConfigKey, stepText, type JudgedTool, type ToolOutcome, type RuleSource } from "../../policy/verdicts.ts";
import { ListRow, mayAsk, type ViewProps } from "../views/view-parts.tsx";
import { t } from "../../words/words.ts";

interface SourceProps {
  readonly source: RuleSource;
  readonly view: ViewProps;
}

/** The key that decides, as a link to it in the config, with its place in the file. */
export function SourceOf({ source: { key, place }, view }: SourceProps): VNode | null {
  if (key === undefined) return null;
  const { state, chat } = view;
  const where = place === undefined ? null : <span class="source-place"> {place}</span>;
  if (!isConfigKey(key) || !mayAsk(view, "config.patch"))
    return (
      <span class="source">
        {isConfigKey(key) ? <code>{key}</code> : key}
        {where}
      </span>
    );
  return (
    <span class="source">
      <a
        href={addressOf({ sessionKey: state.sessionKey, view: "config", key })}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          chat.visit("config", key);
        }}
      >
        <code>{key}</code>
      </a>
      {where}
    </span>
  );
}

const OUTCOMES: Readonly<Record<ToolOutcome, string>> = {
  allowed: t("allowed"),
  asks: t("asks first"),
  refused: t("refused"),
};

/** Whether the tool may be used, for a glance. */
export const OutcomeTag = ({ outcome }: { readonly outcome: ToolOutcome }): VNode => (
  <span class={`verdict verdict-${outcome}`}>{OUTCOMES[outcome]}</span>
);

/** A tool with the verdict, the key that decides, and every step of the policy. */
export function ToolRow({ tool, view }: { readonly tool: JudgedTool; readonly view: ViewProps }): VNode {
  const { id, label, about, from, outcome, why, key, place, trace } = tool;
  return (
    <ListRow
      name={id}
      title={
        <>
          <code>{id}</code> {label.toLowerCase() === id ? "" : label} <OutcomeTag outcome={outcome} />
        </>
      }
      facts={[from]}
    >
      {about !== "" && <p class="view-row-text">{about}</p>}
      <p class="view-row-facts">
        {why} <SourceOf source={{ key, place }} view={view} />
      </p>
      {trace.length > 1 && (
        <details class="steps">
          <summary>{t("All {n} steps", { n: trace.length })}</summary>
          <ol>
            {trace.map((step, at) => (
              <li key={at}>
                {stepText(step)} <SourceOf source={{ key: step.key, place: step.place }} view={view} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </ListRow>
  );
}
