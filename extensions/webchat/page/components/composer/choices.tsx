import type { VNode } from "preact";
import type { Chat } from "../../model/chat.ts";
import { isAvailable, type ModelRow } from "../../model/protocol.ts";
import { thinkingText } from "../../model/format.ts";
import { openRow } from "../../model/state.ts";
import type { PageState } from "../../model/state.ts";
import { t } from "../../words/words.ts";

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"];

/** The choice of the model for this session. */
export function ModelPicker(props: { state: PageState; chat: Chat }): VNode | null {
  const { state, chat } = props;
  const row = openRow(state);
  const { model } = state.status;
  const { defaultModel } = state.catalog;
  const current = fullName(
    row?.provider ?? (defaultModel.provider || model.provider),
    row?.model ?? (defaultModel.id || model.id),
  );
  const models = state.catalog.models.filter(isAvailable);
  if (models.length === 0 && current === "") return null;
  const isListed = models.some((item) => fullName(item.provider, item.id) === current);
  const providers = [...new Set(models.map((item) => item.provider))];
  return (
    <select
      class="choice model"
      aria-label={t("Model")}
      value={current}
      onChange={(event) => chat.chooseModel(event.currentTarget.value)}
    >
      {!isListed && <option value={current}>{current || t("Default model")}</option>}
      {providers.map((provider) => (
        <optgroup key={provider} label={provider || t("models")}>
          {models.filter((item) => item.provider === provider).map((item) => option(item))}
        </optgroup>
      ))}
    </select>
  );
}

function option(model: ModelRow): VNode {
  const value = fullName(model.provider, model.id);
  return (
    <option key={value} value={value}>
      {model.name}
    </option>
  );
}

/** `provider/id`, as people write it. */
export function fullName(provider: string, id: string): string {
  return provider === "" || id.startsWith(`${provider}/`) ? id : `${provider}/${id}`;
}

/** The choice of the thinking level for this session. */
export function ThinkingChoice(props: { state: PageState; chat: Chat }): VNode {
  const level = openRow(props.state)?.thinking ?? "";
  const isKnown = level === "" || LEVELS.includes(level);
  return (
    <select
      class="choice"
      aria-label={t("Thinking")}
      value={level}
      onChange={(event) => props.chat.chooseThinking(event.currentTarget.value)}
    >
      <option value="">{t("Thinking: default")}</option>
      {!isKnown && <option value={level}>{t("Thinking: {level}", { level: thinkingText(level) })}</option>}
      {LEVELS.map((item) => (
        <option key={item} value={item}>
          {t("Thinking: {item}", { item: thinkingText(item) })}
        </option>
      ))}
    </select>
  );
}
