import type { Answers } from "openclaw/plugin-sdk/answers";
import { Fragment, type VNode } from "preact";
import { dollars, seconds } from "../../model/format.ts";
import { PanelDialog } from "../common/panel.tsx";
import { useAnswer, type ViewProps } from "../views/view-parts.tsx";

interface FactsProps {
  readonly view: ViewProps;
  readonly runIds: readonly string[];
  readonly close: () => void;
}

/** How an answer was made: which models were asked and why, what they read, and what it cost. */
export function AnswerFacts({ view, runIds, close }: FactsProps): VNode {
  return (
    <PanelDialog title="How this answer was made" name="run-facts" close={close}>
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
      {!isRead && <p class="hint">Reading…</p>}
      {run.problem !== undefined && (
        <p class="outcome error" role="alert">
          {run.problem}
        </p>
      )}
      {run.answer !== undefined && <Receipt run={run.answer.run} />}
      {prompt.answer !== undefined && <Prompt prompt={prompt.answer} />}
      {run.problem === undefined && prompt.problem !== undefined && <p class="hint">{prompt.problem}</p>}
      <p class="hint">
        Run <code>{runId}</code>
      </p>
    </>
  );
}

type Run = Answers["runs.get"]["run"];
type Model = Run["receipt"]["model"];

const nameOf = ({ provider, id }: Model): string => `${provider}/${id}`;
const count = (tokens: number): string => tokens.toLocaleString();

/** Who answered, what was tried before, and the sums. */
function Receipt({ run }: { readonly run: Run }): VNode {
  const { model, usage, calls, durationMs, tools = [], compactions = 0 } = run.receipt;
  const cached = usage.cacheRead === 0 ? "" : `, ${count(usage.cacheRead)} from the cache`;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["Model", nameOf(model)],
    ["Key", run.receipt.profile],
    ["Began by", run.receipt.trigger],
    ["Ended", run.result],
    ["Time", `${new Date(run.at).toLocaleString()}, ${seconds(durationMs)}`],
    ["Calls", `${calls} of the model`],
    ["Tokens", `${count(usage.input)} in${cached}, ${count(usage.output)} out`],
    ["Cost", dollars(usage.cost.total) ?? "none, or the price is not known"],
    ["Tools", tools.map(({ name, calls: times, failed }) => toolText(name, times, failed)).join(", ") || undefined],
    ["Summaries", compactions === 0 ? undefined : `the conversation was summarised ${compactions} times`],
  ];
  return (
    <section aria-label="Model and cost">
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
  `${name} ${calls}×${failed === 0 ? "" : ` (${failed} failed)`}`;

/** Why this model: each that was asked, and those that were not. */
function Why({ receipt }: { readonly receipt: Run["receipt"] }): VNode {
  const { candidates = [], tries = [], skipped = [] } = receipt;
  const [first] = candidates;
  return (
    <>
      <h3>Why this model</h3>
      <ul class="run-tries">
        {first !== undefined && (
          <li>
            The conversation asks for {nameOf(first)}
            {candidates.length > 1 && `, then for ${candidates.slice(1).map(nameOf).join(", ")}`}.
          </li>
        )}
        {skipped.map(({ model, profile, why }) => (
          <li key={`${nameOf(model)} ${profile}`}>
            {nameOf(model)} was not asked{profile === undefined ? "" : ` with the key ${profile}`}: {why}.
          </li>
        ))}
        {tries.map(({ model, outcome, message, remedy, durationMs, thinking }, index) => (
          <li key={index}>
            {nameOf(model)} was asked (thinking {thinking}) and after {seconds(durationMs)}{" "}
            {outcome === "replied" ? "answered" : `ended: ${outcome}`}
            {message !== undefined && ` – ${message}`}
            {remedy !== undefined && `; next: ${remedy.replaceAll("_", " ")}`}.
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
    <section aria-label="What the model saw">
      <h3>What the model saw</h3>
      {!faithful && <p class="hint">The messages may differ from what was sent: {why ?? "the reason is not known"}</p>}
      {system.map(({ name, source, tokens, text }, index) => (
        <Piece key={`s${index}`} title={`System prompt: ${name}`} tokens={tokens} text={text ?? `From ${source}`} />
      ))}
      {tools.length > 0 && <Piece title={`${tools.length} tools`} tokens={toolTokens} text={tools.join("\n")} />}
      {messages.map(({ role, tokens, content, toolName }, index) => (
        <Piece
          key={`m${index}`}
          title={toolName === undefined ? ROLES[role] : `Result of ${toolName}`}
          tokens={tokens}
          text={content.map(textOf).join("\n\n")}
        />
      ))}
    </section>
  );
}

const ROLES = { user: "Person", assistant: "Agent", toolResult: "Result of a tool" } as const;

function textOf({ type, text, thinking, name, arguments: given, mimeType, bytes }: Content): string {
  if (text !== undefined) return text;
  if (thinking !== undefined) return thinking;
  if (type === "toolCall") return `${name}(${JSON.stringify(given, undefined, 2)})`;
  return `[${mimeType ?? type}${bytes === undefined ? "" : `, ${bytes} bytes`}]`;
}
type Content = ShownPrompt["messages"][number]["content"][number];

function Piece(props: { title: string; tokens: number | undefined; text: string }): VNode {
  const { title, tokens, text } = props;
  return (
    <details>
      <summary>
        <span>{title}</span>
        {tokens !== undefined && <span>{count(tokens)} tokens</span>}
      </summary>
      <pre tabIndex={0}>{text}</pre>
    </details>
  );
}
