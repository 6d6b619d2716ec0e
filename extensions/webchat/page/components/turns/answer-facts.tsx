import type { Answers } from "openclaw/plugin-sdk/answers";
import { Fragment, type VNode } from "preact";
import { dayAndTime, dollars, seconds, thinkingText } from "../../model/format.ts";
import { PanelDialog } from "../common/panel.tsx";
import { useAnswer, type ViewProps } from "../views/view-parts.tsx";
import { outcomeText, remedyText, triggerText } from "./run-words.ts";
import { rich } from "../../words/rich.ts";
import { gatewayText } from "../../words/gateway-sentences.ts";
import { t } from "../../words/words.ts";

interface FactsProps {
  readonly view: ViewProps;
  readonly runIds: readonly string[];
  readonly close: () => void;
}

/** How an answer was made: which models were asked and why, what they read, and what it cost. */
export function AnswerFacts({ view, runIds, close }: FactsProps): VNode {
  return (
    <PanelDialog title={t("How this answer was made")} name="run-facts" close={close}>
      {runIds.map((runId) => (
        <RunFacts key={runId} view={view} runId={runId} />
      ))}
    </PanelDialog>
  );
}

function RunFacts({ view, runId }: { readonly view: ViewProps; readonly runId: string }): VNode {
  const run = useAnswer(view, { method: "runs.get", params: { runId } });
  const prompt = useAnswer(view, { method: "runs.prompt", params: { runId } });
  const isRead = run.answer !== undefined || run.problem !== undefined;
  return (
    <>
      {!isRead && <p class="hint">{t("Reading…")}</p>}
      {run.problem !== undefined && (
        <p class="outcome error" role="alert">
          {run.problem}
        </p>
      )}
      {run.answer !== undefined && <Receipt run={run.answer.run} />}
      {prompt.answer !== undefined && <Prompt prompt={prompt.answer} />}
      {run.problem === undefined && prompt.problem !== undefined && <p class="hint">{prompt.problem}</p>}
      <p class="hint">{rich("Run {code}", { code: <code>{runId}</code> })}</p>
    </>
  );
}

type Run = Answers["runs.get"]["run"];
type Model = Run["receipt"]["model"];

const nameOf = ({ provider, id }: Model): string => `${provider}/${id}`;

/** Who answered, what was tried before, and the sums. */
function Receipt({ run }: { readonly run: Run }): VNode {
  const { model, usage, calls, durationMs, tools = [], compactions = 0 } = run.receipt;
  const { input, output, cacheRead } = usage;
  const facts: readonly (readonly [string, string | undefined])[] = [
    [t("Model"), nameOf(model)],
    [t("Key"), run.receipt.profile],
    [t("Began by"), run.receipt.trigger && triggerText(run.receipt.trigger)],
    [t("Ended"), outcomeText(run.result)],
    [t("Time"), `${dayAndTime(run.at)}, ${seconds(durationMs)}`],
    [t("Calls"), t("{n} of the model", { n: calls })],
    [
      t("Tokens"),
      cacheRead === 0
        ? t("{input} in, {output} out", { input, output })
        : t("{input} in, {cached} from the cache, {output} out", { input, cached: cacheRead, output }),
    ],
    [t("Cost"), dollars(usage.cost.total) ?? t("none, or the price is not known")],
    [t("Tools"), tools.map(({ name, calls: times, failed }) => toolText(name, times, failed)).join(", ") || undefined],
    [
      t("Summaries"),
      compactions === 0
        ? undefined
        : t("the conversation was summarised once|the conversation was summarised {n} times", { n: compactions }),
    ],
  ];
  return (
    <section aria-label={t("Model and cost")}>
      <dl>
        {facts.map(([term, value]) =>
          value === undefined ? null : (
            <Fragment key={term}>
              <dt>{term}</dt>
              <dd>{value}</dd>
            </Fragment>
          ),
        )}
      </dl>
      <Why receipt={run.receipt} />
    </section>
  );
}

const toolText = (name: string, calls: number, failed: number): string =>
  failed === 0 ? `${name} ${calls}×` : t("{tool} {calls}× ({failed} failed)", { tool: name, calls, failed });

const RESTS = /^cooldown until (\S+) after (\w+)$/;

/** Why a model was not asked, from the gateway's words for it. */
function reasonText(why: string): string {
  const [, until = "", failure = ""] = RESTS.exec(why) ?? [];
  if (Number.isNaN(Date.parse(until))) return gatewayText(why).replace(/\.$/, "");
  return t("it rests until {time} after this: {failure}", {
    time: dayAndTime(Date.parse(until)),
    failure: outcomeText(failure),
  });
}

/** Why this model: each that was asked, and those that were not. */
function Why({ receipt }: { readonly receipt: Run["receipt"] }): VNode {
  const { candidates = [], tries = [], skipped = [] } = receipt;
  const [first] = candidates;
  return (
    <>
      <h3>{t("Why this model")}</h3>
      <ul class="run-tries">
        {first !== undefined && (
          <li>
            {candidates.length === 1
              ? t("The conversation asks for {model}.", { model: nameOf(first) })
              : t("The conversation asks for {model}, then for {others}.", {
                  model: nameOf(first),
                  others: candidates.slice(1).map(nameOf).join(", "),
                })}
          </li>
        )}
        {skipped.map(({ model, profile, why }) => (
          <li key={`${nameOf(model)} ${profile}`}>
            {profile === undefined
              ? t("{model} was not asked: {why}.", { model: nameOf(model), why: reasonText(why) })
              : t("{model} was not asked with the key {key}: {why}.", {
                  model: nameOf(model),
                  key: profile,
                  why: reasonText(why),
                })}
          </li>
        ))}
        {tries.map(({ model, outcome, message, remedy, durationMs, thinking }, index) => (
          <li key={index}>
            {outcome === "replied"
              ? t("{model} was asked (thinking {level}) and answered after {time}.", {
                  model: nameOf(model),
                  level: thinkingText(thinking),
                  time: seconds(durationMs),
                })
              : t("{model} was asked (thinking {level}) and ended after {time}: {outcome}.", {
                  model: nameOf(model),
                  level: thinkingText(thinking),
                  time: seconds(durationMs),
                  outcome: [outcomeText(outcome), message].filter(Boolean).join(" – "),
                })}
            {remedy !== undefined && ` ${t("Next: {remedy}.", { remedy: remedyText(remedy) })}`}
          </li>
        ))}
      </ul>
    </>
  );
}

type ShownPrompt = Answers["runs.prompt"];

/** What the model read: each part opens to its text. */
function Prompt({ prompt }: { readonly prompt: ShownPrompt }): VNode {
  const { system, messages, tools, toolTokens, faithful, why } = prompt;
  return (
    <section aria-label={t("What the model saw")}>
      <h3>{t("What the model saw")}</h3>
      {!faithful && (
        <p class="hint">
          {t("The messages may differ from what was sent:")} {why ?? t("the reason is not known")}
        </p>
      )}
      {system.map(({ name, source, tokens, text }, index) => (
        <Piece
          key={`s${index}`}
          title={t("System prompt: {name}", { name })}
          tokens={tokens}
          text={text ?? t("From {source}", { source })}
        />
      ))}
      {tools.length > 0 && (
        <Piece title={t("{n} tool|{n} tools", { n: tools.length })} tokens={toolTokens} text={tools.join("\n")} />
      )}
      {messages.map(({ role, tokens, content, toolName }, index) => (
        <Piece
          key={`m${index}`}
          title={toolName === undefined ? ROLES[role] : t("Result of {toolName}", { toolName })}
          tokens={tokens}
          text={content.map(textOf).join("\n\n")}
        />
      ))}
    </section>
  );
}

const ROLES = { user: t("Person"), assistant: t("Agent"), toolResult: t("Result of a tool") } as const;

function textOf({ type, text, thinking, name, arguments: given, mimeType, bytes }: Content): string {
  if (text !== undefined) return text;
  if (thinking !== undefined) return thinking;
  if (type === "toolCall") return `${name}(${JSON.stringify(given, undefined, 2)})`;
  return bytes === undefined
    ? `[${mimeType ?? type}]`
    : t("[{kind}, {n} byte]|[{kind}, {n} bytes]", { kind: mimeType ?? type, n: bytes });
}
type Content = ShownPrompt["messages"][number]["content"][number];

function Piece(props: { title: string; tokens: number | undefined; text: string }): VNode {
  const { title, tokens, text } = props;
  return (
    <details>
      <summary>
        <span>{title}</span>
        {tokens !== undefined && <span>{t("{n} token|{n} tokens", { n: tokens })}</span>}
      </summary>
      <pre tabIndex={0}>{text}</pre>
    </details>
  );
}
