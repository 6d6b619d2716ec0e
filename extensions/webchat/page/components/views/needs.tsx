import type { VNode } from "preact";
import type { Answers } from "openclaw/plugin-sdk/answers";
import { channelName } from "../../model/format.ts";
import { needsOf } from "../../model/state.ts";
import { useNow } from "../common/hooks.ts";
import { ImportEnd } from "../setup/import-offer.tsx";
import { Questions } from "../common/questions.tsx";
import { DeviceNotices } from "./notices.tsx";
import {
  type ViewActs,
  ActButton,
  isUsedUp,
  ListRow,
  RowList,
  SureButton,
  USED_UP,
  useActing,
  useAnswer,
  ViewFrame,
  type ViewProps,
  when,
} from "./view-parts.tsx";
import { t } from "../../words/words.ts";

type Account = NonNullable<Answers["status"]["channels"]>[number];

/** Everything that waits for a person, each with the act that ends it. */
export function NeedsView(props: ViewProps): VNode {
  const { state, chat } = props;
  const { accounts, keys, budgets, unsent, isRead, problems, again } = useNeeds(props);
  const acting = useActing(again);
  const isNothing = needsOf(state) + accounts.length + keys.length + budgets.length + unsent.length === 0;
  return (
    <ViewFrame problems={[...problems, acting.problem]} isRead={isRead}>
      <ImportEnd state={state} chat={chat} />
      {isNothing && <p class="view-empty">{t("Nothing waits for you.")}</p>}
      <Questions state={state} chat={chat} />
      <RowList title={t("The gateway")}>
        {state.status.problems.map(({ message, fix }) => (
          <ListRow key={message} title={message} facts={[fix]} />
        ))}
      </RowList>
      <RowList title={t("Channels")}>
        {accounts.map((account) => (
          <ListRow
            key={`${account.channel}:${account.accountId}`}
            title={`${account.label ?? account.channel}, ${account.accountId}`}
            error={troubleOf(account)}
            facts={[account.fix ?? undefined, ...(account.notices ?? []).map(({ fix }) => fix)]}
            actions={<ActButton label={t("Show the channels")} act={() => chat.visit("channels")} />}
          />
        ))}
      </RowList>
      <RowList title={t("Keys of models")}>
        {keys.map(({ provider, displayName }) => (
          <ListRow
            key={provider}
            title={displayName}
            error={t("Its key has expired.")}
            actions={chat.mayChangeModel && <ActButton label={t("Change the key")} act={() => chat.show("model")} />}
          />
        ))}
      </RowList>
      <RowList title={t("Budgets")}>
        {budgets.map(({ key, what }) => (
          <ListRow
            key={`${key}:${what}`}
            title={what}
            facts={[key]}
            error={USED_UP}
            actions={<ActButton label={t("Show the usage")} act={() => chat.visit("usage")} />}
          />
        ))}
      </RowList>
      <RowList title={t("Answers that were not delivered")}>
        {unsent.map((row) => (
          <UnsentRow key={row.id} row={row} chat={chat} acting={acting} />
        ))}
      </RowList>
      <DeviceNotices {...props} />
    </ViewFrame>
  );
}

const OFTEN = { changedBy: ["health", "config.changed"] };

/** What the gateway alone knows of that waits. */
function useNeeds(props: ViewProps) {
  const status = useAnswer(props, { method: "status", ...OFTEN });
  const keys = useAnswer(props, { method: "models.authStatus", ...OFTEN });
  const usage = useAnswer(props, { method: "usage.status", ...OFTEN });
  const outbox = useAnswer(props, {
    method: "outbox.list",
    params: { open: true, limit: 200 },
    changedBy: ["health", "session.queue"],
  });
  const reads = [status, keys, usage, outbox];
  return {
    accounts: (status.answer?.channels ?? []).filter((account) => troubleOf(account) !== undefined),
    keys: (keys.answer?.providers ?? []).filter((one) => one.status === "expired"),
    budgets: (usage.answer?.budgets ?? []).filter(isUsedUp),
    unsent: (outbox.answer?.rows ?? []).filter((row) => row.state === "failed" || row.state === "unknown"),
    isRead: reads.every(({ answer, problem }) => answer !== undefined || problem !== undefined),
    problems: reads.map(({ problem }) => problem),
    again: outbox.again,
  };
}

interface UnsentProps {
  readonly row: Answers["outbox.list"]["rows"][number];
  readonly chat: ViewProps["chat"];
  readonly acting: ViewActs;
}

function UnsentRow({ row, chat, acting }: UnsentProps): VNode {
  const now = useNow(30_000);
  const { act, isBusy } = acting;
  const { id, text, channel, createdAt, state, error } = row;
  return (
    <ListRow
      title={text === "" ? t("A file") : text.slice(0, MOST_TEXT)}
      facts={[channelName(channel), when(createdAt, now), state === "unknown" ? UNKNOWN : undefined]}
      error={error}
      actions={
        <>
          <ActButton
            label={t("Send again")}
            isDisabled={isBusy}
            act={() => act(() => chat.ask("outbox.retry", { id }))}
          />
          <SureButton
            label={t("Drop")}
            sure={t("Drop the answer")}
            act={() => act(() => chat.ask("outbox.drop", { id }))}
          />
        </>
      }
    />
  );
}

const MOST_TEXT = 200;
const UNKNOWN = t("it may have arrived");

/** What is wrong with an account; undefined for one that works, or that somebody has switched off. */
function troubleOf({ enabled, connected, lastError, notices = [] }: Account): string | undefined {
  if (enabled === false) return undefined;
  const isDown = connected !== true && Boolean(lastError);
  const words = [...(isDown ? [lastError ?? ""] : []), ...notices.map(({ problem }) => problem)];
  return words.length > 0 ? words.join(" ") : undefined;
}
