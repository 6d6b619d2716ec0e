import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { troublesOf, type Trouble } from "../../health/troubles.ts";
import { dollars, lasting, lifecycleText, factLine, shortCount } from "../../model/format.ts";
import type { PageView } from "../../model/state.ts";
import { useNow } from "../common/hooks.ts";
import {
  ActButton,
  TerminalCommand,
  ListRow,
  mayAsk,
  RowList,
  useAnswer,
  ViewFrame,
  type ViewProps,
  when,
} from "../views/view-parts.tsx";
import { GrowthRows, MachineRows } from "./machine.tsx";
import { Doctor, VersionRow } from "./upkeep.tsx";
import { t } from "../../words/words.ts";

type Status = Answers["status"];
type Account = NonNullable<Status["channels"]>[number];

const CHANGED = { changedBy: ["health", "config.changed", "sessions.changed", "tick"], isReadOnReturn: true };

/** How the gateway is: its problems with what helps, its accounts, the process and the machine, and what grows. */
export function HealthView(props: ViewProps): VNode {
  const now = useNow(15_000);
  const status = useAnswer(props, { method: "status", ...CHANGED });
  const { answer } = status;
  return (
    <ViewFrame problems={[status.problem]} isRead={answer !== undefined}>
      {answer && (
        <>
          <p class="view-sum">{sumOf(answer)}</p>
          <RowList
            title={t("Problems")}
            empty={t("None. openclaw doctor checks more than a running gateway can see of itself.")}
          >
            {troublesOf(answer, now).map((trouble) => (
              <TroubleRow key={trouble.what} trouble={trouble} view={props} />
            ))}
          </RowList>
          <RowList title={t("Channels")} empty={t("No channel is set up.")}>
            {(answer.channels ?? []).map((account) => (
              <AccountRow key={`${account.channel}:${account.accountId}`} account={account} now={now} view={props} />
            ))}
          </RowList>
          <MachineRows view={props} status={answer} />
          {mayAsk(props, "system.growth") && <GrowthRows view={props} />}
          <LastDay status={answer} />
          <Starts status={answer} now={now} view={props} />
          <Doctor view={props} />
        </>
      )}
    </ViewFrame>
  );
}

function sumOf({ version, ready, uptimeMs }: Status): string {
  const state = ready?.ok === true ? t("The gateway takes messages") : t("The gateway takes no messages");
  return factLine([
    state,
    t("version {version}", { version: version ?? t("unknown") }),
    uptimeMs === undefined ? undefined : t("up for {time}", { time: lasting(uptimeMs) }),
  ]);
}

function TroubleRow({ trouble, view: { chat } }: { readonly trouble: Trouble; readonly view: ViewProps }): VNode {
  const { what, fix, command, view, sessionKey } = trouble;
  return (
    <ListRow
      name={what}
      title={what}
      facts={[fix]}
      actions={
        <>
          {view && <ActButton label={VIEWS_TO_SHOW[view] ?? t("Show it")} act={() => chat.visit(view)} />}
          {sessionKey !== undefined && <ActButton label={t("Open it")} act={() => chat.open(sessionKey)} />}
        </>
      }
    >
      {command !== undefined && <TerminalCommand command={command} />}
    </ListRow>
  );
}

const VIEWS_TO_SHOW: Readonly<Partial<Record<PageView, string>>> = {
  logs: t("Show the log"),
  models: t("Show the models"),
  needs: t("Show what waits"),
  plugins: t("Show the plugins"),
};

interface AccountProps {
  readonly account: Account;
  readonly now: number;
  readonly view: ViewProps;
}

function AccountRow({ account, now, view: { chat } }: AccountProps): VNode {
  const { channel, label = channel, accountId } = account;
  const { words, helps } = troubleWith(account);
  return (
    <ListRow
      name={`${label} ${accountId}`}
      title={factLine([label, accountId])}
      facts={factsOfAccount(account, now)}
      error={words.length > 0 ? words.join(" ") : undefined}
      actions={
        channel === "webchat" ? undefined : (
          <ActButton label={t("Show the channels")} act={() => chat.visit("channels")} />
        )
      }
    >
      {words.length > 0 &&
        helps.map((help) => (
          <p key={help} class="view-row-text">
            {help}
          </p>
        ))}
    </ListRow>
  );
}

/** What is wrong with an account that is on, and what helps. */
function troubleWith({ enabled, connected, lastError, fix, notices = [] }: Account) {
  const isDown = enabled !== false && connected !== true;
  return {
    words: [...(isDown && lastError ? [lastError] : []), ...notices.map(({ problem }) => problem)],
    helps: [fix ?? "", ...notices.map((notice) => notice.fix)].filter((help) => help !== ""),
  };
}

function factsOfAccount(account: Account, now: number): readonly (string | undefined)[] {
  const { enabled, connected, lifecycle, lifecycleSince, self, retryAt } = account;
  const since = lifecycleSince ? t(" since {time}", { time: when(lifecycleSince, now) }) : "";
  return [
    enabled === false ? t("switched off") : `${connected === true ? t("connected") : lifecycleText(lifecycle)}${since}`,
    self?.name,
    ...lastMessages(account, now),
    retryAt && retryAt > now ? t("next attempt in {time}", { time: lasting(retryAt - now) }) : undefined,
  ];
}

/** The gateway does not count the messages of its own page. */
function lastMessages({ channel, lastInboundAt, lastOutboundAt }: Account, now: number): readonly string[] {
  if (channel === "webchat") return [];
  return [
    lastInboundAt ? t("last message in {time}", { time: when(lastInboundAt, now) }) : t("no message in yet"),
    lastOutboundAt ? t("last message out {time}", { time: when(lastOutboundAt, now) }) : t("none out yet"),
  ];
}

function LastDay({
  status: { lastDay, journal, activeRuns, waiting, connections },
}: {
  readonly status: Status;
}): VNode {
  const work = [
    [activeRuns, (n: number) => t("{n} answer under way|{n} answers under way", { n })],
    [waiting, (n: number) => t("{n} message that waits|{n} messages that wait", { n })],
    [journal?.openOutbox, (n: number) => t("{n} part of answers to be sent|{n} parts of answers to be sent", { n })],
    [connections, (n: number) => t("{n} client connected|{n} clients connected", { n })],
  ] as const;
  return (
    <RowList title={t("Work")}>
      <ListRow title={t("Now")} facts={work.flatMap(([count, words]) => (count === undefined ? [] : [words(count)]))} />
      <ListRow
        title={t("The last day")}
        facts={
          lastDay === undefined
            ? [t("not known")]
            : [
                t("{n} run|{n} runs", { n: lastDay.runs }),
                lastDay.failed === 0 ? t("none failed") : t("{n} failed", { n: lastDay.failed }),
                t("{count} tokens", { count: shortCount(lastDay.input + lastDay.output) }),
                dollars(lastDay.costUsd),
              ]
        }
      />
    </RowList>
  );
}

interface StartsProps {
  readonly status: Status;
  readonly now: number;
  readonly view: ViewProps;
}

/** The starts that are known, and how a new version comes. */
function Starts({ status, now, view }: StartsProps): VNode {
  const { starts = [], uptimeMs = 0, ts = now, version, config } = status;
  const [, ...before] = starts.toReversed();
  return (
    <RowList title={t("Starts and version")}>
      <ListRow
        title={t("Started {time}", { time: when(ts - uptimeMs, now) })}
        facts={[before.length === 0 ? t("the start before ended in order") : undefined]}
        error={
          before.length === 0
            ? undefined
            : t(
                "A start shortly before ended without a stop: {times}. After three within five minutes the gateway starts in safe mode.|{n} starts shortly before ended without a stop: {times}. After three within five minutes the gateway starts in safe mode.",
                { n: before.length, times: before.map(({ at }) => when(at, now)).join("; ") },
              )
        }
      />
      <VersionRow view={view} version={version} now={now} />
      <>
        {(config?.warnings ?? []).length > 0 && (
          <ListRow title={t("The config has warnings")} error={(config?.warnings ?? []).join(" ")}>
            <TerminalCommand command="openclaw doctor" />
          </ListRow>
        )}
      </>
    </RowList>
  );
}
