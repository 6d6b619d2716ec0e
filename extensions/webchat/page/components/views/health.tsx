import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { troublesOf, type Trouble } from "../../health/troubles.ts";
import { dollars, lasting, shortCount } from "../../model/format.ts";
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
} from "./view-parts.tsx";
import { GrowthRows, MachineRows } from "./machine.tsx";

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
          <RowList title="Problems" empty="None. openclaw doctor checks more than a running gateway can see of itself.">
            {troublesOf(answer, now).map((trouble) => (
              <TroubleRow key={trouble.what} trouble={trouble} view={props} />
            ))}
          </RowList>
          <RowList title="Channels" empty="No channel is set up.">
            {(answer.channels ?? []).map((account) => (
              <AccountRow key={`${account.channel}:${account.accountId}`} account={account} now={now} view={props} />
            ))}
          </RowList>
          <MachineRows view={props} status={answer} />
          {mayAsk(props, "system.growth") && <GrowthRows view={props} />}
          <LastDay status={answer} />
          <Starts status={answer} now={now} />
        </>
      )}
    </ViewFrame>
  );
}

function sumOf({ version, ready, uptimeMs }: Status): string {
  const state = ready?.ok === true ? "The gateway takes messages" : "The gateway takes no messages";
  return [state, `version ${version ?? "unknown"}`, uptimeMs === undefined ? undefined : `up for ${lasting(uptimeMs)}`]
    .filter((part) => part !== undefined)
    .join(" · ");
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
          {view && <ActButton label={VIEWS_TO_SHOW[view] ?? "Show it"} act={() => chat.visit(view)} />}
          {sessionKey !== undefined && <ActButton label="Open it" act={() => chat.open(sessionKey)} />}
        </>
      }
    >
      {command !== undefined && <TerminalCommand command={command} />}
    </ListRow>
  );
}

const VIEWS_TO_SHOW: Readonly<Partial<Record<PageView, string>>> = {
  logs: "Show the log",
  models: "Show the models",
  needs: "Show what waits",
  plugins: "Show the plugins",
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
      title={`${label} · ${accountId}`}
      facts={factsOfAccount(account, now)}
      error={words.length > 0 ? words.join(" ") : undefined}
      actions={
        channel === "webchat" ? undefined : <ActButton label="Show the channels" act={() => chat.visit("channels")} />
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
  const { enabled, connected, lifecycle, lifecycleSince, self, lastInboundAt, lastOutboundAt, retryAt } = account;
  const since = lifecycleSince ? ` since ${when(lifecycleSince, now)}` : "";
  return [
    enabled === false ? "switched off" : `${connected === true ? "connected" : lifecycle}${since}`,
    self?.name,
    lastInboundAt ? `last message in ${when(lastInboundAt, now)}` : "no message in yet",
    lastOutboundAt ? `last message out ${when(lastOutboundAt, now)}` : "none out yet",
    retryAt && retryAt > now ? `next attempt in ${lasting(retryAt - now)}` : undefined,
  ];
}

function LastDay({
  status: { lastDay, journal, activeRuns, waiting, connections },
}: {
  readonly status: Status;
}): VNode {
  const work = [
    [activeRuns, "answers under way"],
    [waiting, "messages that wait"],
    [journal?.openOutbox, "parts of answers to be sent"],
    [connections, "clients connected"],
  ] as const;
  return (
    <RowList title="Work">
      <ListRow title="Now" facts={work.flatMap(([count, words]) => (count === undefined ? [] : `${count} ${words}`))} />
      <ListRow
        title="The last day"
        facts={
          lastDay === undefined
            ? ["not known"]
            : [
                `${lastDay.runs} runs`,
                lastDay.failed === 0 ? "none failed" : `${lastDay.failed} failed`,
                `${shortCount(lastDay.input + lastDay.output)} tokens`,
                dollars(lastDay.costUsd),
              ]
        }
      />
    </RowList>
  );
}

/** The starts that are known, and how a new version comes. */
function Starts({ status, now }: { readonly status: Status; readonly now: number }): VNode {
  const { starts = [], uptimeMs = 0, ts = now, version, config } = status;
  const [, ...before] = starts.toReversed();
  return (
    <RowList title="Starts and version">
      <ListRow
        title={`Started ${when(ts - uptimeMs, now)}`}
        facts={[before.length === 0 ? "the start before ended in order" : undefined]}
        error={
          before.length === 0
            ? undefined
            : `${before.length === 1 ? "A start" : `${before.length} starts`} shortly before ended without a stop: ${before.map(({ at }) => when(at, now)).join("; ")}. After three within five minutes the gateway starts in safe mode.`
        }
      />
      <ListRow
        title={`Version ${version ?? "unknown"}`}
        facts={["a newer one is fetched, tried and put in its place by"]}
      >
        <TerminalCommand command="openclaw update" />
      </ListRow>
      {(config?.warnings ?? []).length > 0 ? (
        <ListRow title="The config has warnings" error={(config?.warnings ?? []).join(" ")}>
          <TerminalCommand command="openclaw doctor" />
        </ListRow>
      ) : (
        <ListRow title="Everything that can be checked" facts={["config, keys, people, plugins, service, files"]}>
          <TerminalCommand command="openclaw doctor" />
        </ListRow>
      )}
    </RowList>
  );
}
