import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { shortCount } from "../../model/format.ts";
import { withMoved, type ModelOrder, modelOrderOf, orderPatch, refOf } from "../../models/model-order.ts";
import {
  type ViewActs,
  ActButton,
  AgentPick,
  ListRow,
  mayAsk,
  RowList,
  useActing,
  useAnswer,
  ViewFrame,
  type ViewProps,
} from "./view-parts.tsx";
import { answeredAfter, ProviderKeys, TestButton } from "./model-keys.tsx";
import { t } from "../../words/words.ts";

type Model = Answers["models.list"]["models"][number];

const CHANGED = { changedBy: ["config.changed", "health", "sessions.changed"] };
const STEP = 30;

/** The models of an agent in the order in which they are asked, the keys of each provider, and all models that can be used. */
export function ModelsView(props: ViewProps): VNode {
  const { state, chat } = props;
  const { agents } = state.catalog;
  const [chosen, setChosen] = useState("");
  const agentId = chosen === "" ? (state.hello?.defaultAgent ?? "main") : chosen;
  const read = useModels(props, agentId);
  const acting = useActing(read.again);
  const order = modelOrderOf(agentId, read);
  const { config, keys } = read;
  const setOrder =
    config && mayAsk(props, "config.patch")
      ? (refs: readonly string[]): void =>
          acting.act(() => chat.ask("config.patch", { ...orderPatch(agentId, config, refs) }))
      : undefined;
  const shared = { view: props, acting, agentId, again: read.again };
  return (
    <ViewFrame
      tools={
        <>
          {chat.mayChangeModel && (
            <ActButton label={t("Add a model or a key")} kind="primary" act={() => chat.show("model")} />
          )}
          <AgentPick agents={agents} value={agentId} choose={setChosen} />
        </>
      }
      problems={[...read.problems, acting.problem]}
      isRead={read.isRead}
    >
      <Order order={order} models={read.models} setOrder={setOrder} view={props} acting={acting} agentId={agentId} />
      {keys?.providers.map((provider) => (
        <ProviderKeys key={provider.provider} provider={provider} config={config} {...shared} />
      ))}
      <AllModels models={read.models} order={order} setOrder={setOrder} isBusy={acting.isBusy} />
    </ViewFrame>
  );
}

/** What the gateway knows of the models of an agent. */
function useModels(props: ViewProps, agentId: string) {
  const params = { agentId };
  const models = useAnswer(props, { method: "models.list", params, ...CHANGED });
  const keys = useAnswer(props, { method: "models.authStatus", params, ...CHANGED });
  const agents = useAnswer(props, { method: "agents.list", changedBy: ["config.changed"] });
  const config = useAnswer(props, { method: "config.get", changedBy: ["config.changed"] });
  const reads = [models, keys, agents, config];
  const again = (): void => {
    for (const one of reads) one.again();
  };
  const isDialogOpen = props.state.shown.panel !== undefined;
  // No event tells of a key that was only stored.
  useEffect(() => {
    if (!isDialogOpen) keys.again();
  }, [isDialogOpen]);
  return {
    models: (models.answer?.models ?? []).filter(({ provider }) => provider !== "demo"),
    keys: keys.answer,
    agents: agents.answer,
    config: config.answer,
    isRead: reads.every(({ answer, problem }) => answer !== undefined || problem !== undefined),
    problems: [...reads.map(({ problem }) => problem), ...(keys.answer?.problems ?? [])],
    again,
  };
}

type SetOrder = ((refs: readonly string[]) => void) | undefined;

interface OrderProps {
  readonly order: ModelOrder;
  readonly models: readonly Model[];
  readonly setOrder: SetOrder;
  readonly view: ViewProps;
  readonly acting: ViewActs;
  readonly agentId: string;
}

function Order({ order, models, setOrder, view, acting, agentId }: OrderProps): VNode {
  const { refs, isFoundOut, isShared } = order;
  return (
    <>
      <RowList title={t("Asked in this order")} empty={NO_MODEL}>
        {refs.map((ref, at) => {
          const model = models.find((one) => refOf(one) === ref);
          const isUsable = model !== undefined && model.available !== false;
          return (
            <ListRow
              key={ref}
              name={ref}
              title={ref}
              facts={[
                at === 0 ? t("asked first") : t("fallback {at}", { at }),
                at === 0 && isFoundOut ? FOUND_OUT : undefined,
                model?.alias === undefined ? undefined : t("alias {alias}", { alias: model.alias }),
              ]}
              error={isUsable ? undefined : t("It cannot be called: its provider has no key that can be used.")}
              actions={setOrder && <OrderActs refs={refs} at={at} setOrder={setOrder} isBusy={acting.isBusy} />}
            >
              {at === 0 && mayAsk(view, "openclaw.setup.verify") && (
                <TestButton what={ref} test={() => testFirst(view, agentId)} />
              )}
            </ListRow>
          );
        })}
      </RowList>
      {isShared && <p class="hint">{t("All agents without models of their own ask these.")}</p>}
    </>
  );
}

const NO_MODEL = t("No model. Add one with its key.");
const FOUND_OUT = t("the config names none, and this one can be called");

interface OrderActsProps {
  readonly refs: readonly string[];
  readonly at: number;
  readonly setOrder: NonNullable<SetOrder>;
  readonly isBusy: boolean;
}

function OrderActs({ refs, at, setOrder, isBusy }: OrderActsProps): VNode | null {
  if (refs.length < 2) return null;
  const ref = refs[at] ?? "";
  return (
    <>
      <ActButton
        label={t("Up")}
        name={t("Up: {ref}", { ref })}
        isDisabled={isBusy || at === 0}
        act={() => setOrder(withMoved(refs, at, at - 1))}
      />
      <ActButton
        label={t("Down")}
        name={t("Down: {ref}", { ref })}
        isDisabled={isBusy || at === refs.length - 1}
        act={() => setOrder(withMoved(refs, at, at + 1))}
      />
      <ActButton
        label={t("Take out")}
        name={t("Take out: {ref}", { ref })}
        isDisabled={isBusy}
        act={() => setOrder(refs.filter((one) => one !== ref))}
      />
    </>
  );
}

async function testFirst({ chat }: ViewProps, agentId: string): Promise<string> {
  const { ok, latencyMs = 0, error } = await chat.ask("openclaw.setup.verify", { agentId });
  return ok ? answeredAfter(latencyMs) : (error ?? t("It did not answer."));
}

interface AllProps {
  readonly models: readonly Model[];
  readonly order: ModelOrder;
  readonly setOrder: SetOrder;
  readonly isBusy: boolean;
}

/** All models that can be used, found by their words. */
function AllModels({ models, order, setOrder, isBusy }: AllProps): VNode {
  const [words, setWords] = useState("");
  const [most, setMost] = useState(STEP);
  const fitting = models.filter((model) => textOf(model).includes(words.toLowerCase()));
  const [first, ...fallbacks] = order.refs;
  return (
    <>
      <p class="view-search">
        <input
          type="search"
          aria-label={t("Words of a model")}
          placeholder={t("Words of a model")}
          onInput={(event) => (setWords(event.currentTarget.value.trim()), setMost(STEP))}
        />
      </p>
      <RowList title={t("Models that can be used: {n}", { n: fitting.length })} empty={t("No model has these words.")}>
        {fitting.slice(0, most).map((model) => {
          const ref = refOf(model);
          const isAsked = order.refs.includes(ref);
          return (
            <ListRow
              key={ref}
              name={t("{ref}, can be used", { ref })}
              title={ref}
              facts={factsOf(model)}
              actions={
                setOrder && (
                  <>
                    {ref !== first && (
                      <ActButton
                        label={t("Ask it first")}
                        name={t("Ask it first: {ref}", { ref })}
                        isDisabled={isBusy}
                        act={() => setOrder([ref, ...(isAsked ? order.refs : fallbacks).filter((one) => one !== ref)])}
                      />
                    )}
                    {!isAsked && (
                      <ActButton
                        label={t("Add as a fallback")}
                        name={t("Add as a fallback: {ref}", { ref })}
                        isDisabled={isBusy}
                        act={() => setOrder([...order.refs, ref])}
                      />
                    )}
                  </>
                )
              }
            />
          );
        })}
      </RowList>
      {fitting.length > most && <ActButton label={t("Show more")} act={() => setMost(most + STEP)} />}
    </>
  );
}

const textOf = (model: Model): string => `${refOf(model)} ${model.name} ${model.alias ?? ""}`.toLowerCase();

const factsOf = ({ name, id, alias, contextWindow, reasoning, input = [] }: Model): readonly (string | undefined)[] => [
  name === id ? undefined : name,
  alias === undefined ? undefined : t("alias {alias}", { alias }),
  t("window of {count} tokens", { count: shortCount(contextWindow) }),
  reasoning ? t("thinks") : undefined,
  input.includes("image") ? t("sees images") : undefined,
];
