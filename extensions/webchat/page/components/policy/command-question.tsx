import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useId, useState } from "preact/hooks";
import { useActing, type ViewProps } from "../views/view-parts.tsx";
import { lookAlikeWords } from "../../policy/look-alikes.ts";
import { SourceOf } from "./tool-row.tsx";
import { t } from "../../words/words.ts";

type Judged = NonNullable<Answers["policy.explain"]["command"]>;

interface QuestionProps {
  readonly view: ViewProps;
  /** The question about the same turn without a command. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly who: string;
}

const OUTCOMES: Readonly<Record<string, string>> = {
  runs: t("It runs without a question."),
  asks: t("A person is asked first."),
  refused: t("It is refused."),
};

/** Says whether a command would run in such a turn. Nothing is run. */
export function CommandQuestion({ view, params, who }: QuestionProps): VNode {
  const [command, setCommand] = useState("");
  const [judged, setJudged] = useState<Judged>();
  const { isBusy, problem, act } = useActing(() => undefined);
  const marked = judged && lookAlikeWords(judged.text);
  const id = useId();
  const ask = (): void => {
    const text = command.trim();
    if (text === "") return;
    act(async () => setJudged((await view.chat.ask("policy.explain", { ...params, command: text })).command));
  };
  return (
    <section aria-label={t("A command")}>
      <form class="view-search" onSubmit={(event) => (event.preventDefault(), ask())}>
        <label for={id}>{t("May the agent run this for {who}?", { who })}</label>
        <input
          id={id}
          value={command}
          placeholder={t("a command, such as git push")}
          autocomplete="off"
          spellcheck={false}
          dir="ltr"
          onInput={(event) => setCommand(event.currentTarget.value)}
        />
        <button type="submit" class="quiet" disabled={isBusy}>
          {t("Ask")}
        </button>
      </form>
      <div role="status">
        {judged && (
          <p class="judged">
            <code>{judged.text}</code> <strong>{OUTCOMES[judged.outcome] ?? judged.outcome}</strong> {judged.why}{" "}
            <SourceOf source={judged} view={view} />
          </p>
        )}
        {marked !== undefined && <p class="look-alikes">{marked}</p>}
        {problem !== undefined && <p class="view-row-error">{problem}</p>}
      </div>
    </section>
  );
}
