import type { VNode } from "preact";
import type { Answers } from "openclaw/plugin-sdk/answers";
import { channelName } from "../../model/format.ts";
import { useNow } from "../common/hooks.ts";
import { Questions } from "../common/questions.tsx";
import {
  type Acting,
  ActButton,
  Row,
  Rows,
  SureButton,
  useActing,
  useAnswer,
  ViewFrame,
  type ViewProps,
  when,
} from "./view-parts.tsx";

type Account = NonNullable<Answers["status"]["channels"]>[number];

/** Everything that waits for a person, each with the act that ends it. */
export function Content(props: ViewProps): VNode {
  const { state, chat } = props;
  const status = useAnswer(props, { method: "status", changedBy: ["health", "config.changed"] });
  const outbox = useAnswer(props, {
    method: "outbox.list",
    params: { open: true, limit: 200 },
    changedBy: ["health", "session.queue"],
  });
  const acting = useActing(outbox.again);
  const accounts = (status.answer?.channels ?? []).filter((account) => troubleOf(account) !== undefined);
  const unsent = (outbox.answer?.rows ?? []).filter((row) => row.state === "failed" || row.state === "unknown");
  const { problems } = state.status;
  const people = state.approvals.length + state.people.pairings.length;
  const isNothing = people + problems.length + accounts.length + unsent.length === 0;
  return (
    <ViewFrame problems={[status.problem, outbox.problem, acting.problem]} isRead={status.answer !== undefined}>
      {isNothing && <p class="view-empty">Nothing waits for you.</p>}
      <Questions state={state} chat={chat} />
      <Rows title="The gateway">
        {problems.map(({ message, fix }) => (
          <Row key={message} title={message} facts={[fix]} />
        ))}
      </Rows>
      <Rows title="Channels">
        {accounts.map((account) => (
          <Row
            key={`${account.channel}:${account.accountId}`}
            title={`${account.label ?? account.channel}, ${account.accountId}`}
            error={troubleOf(account)}
            facts={[account.fix ?? undefined, ...(account.notices ?? []).map(({ fix }) => fix)]}
            actions={<ActButton label="Show the channels" act={() => chat.show("channels")} />}
          />
        ))}
      </Rows>
      <Rows title="Answers that were not delivered">
        {unsent.map((row) => (
          <UnsentRow key={row.id} row={row} chat={chat} acting={acting} />
        ))}
      </Rows>
    </ViewFrame>
  );
}

interface UnsentProps {
  readonly row: Answers["outbox.list"]["rows"][number];
  readonly chat: ViewProps["chat"];
  readonly acting: Acting;
}

function UnsentRow({ row, chat, acting }: UnsentProps): VNode {
  const now = useNow(30_000);
  const { act, isBusy } = acting;
  const { id, text, channel, createdAt, state, error } = row;
  return (
    <Row
      title={text === "" ? "A file" : text.slice(0, MOST_TEXT)}
      facts={[channelName(channel), when(createdAt, now), state === "unknown" ? UNKNOWN : undefined]}
      error={error}
      actions={
        <>
          <ActButton label="Send again" isDisabled={isBusy} act={() => act(() => chat.ask("outbox.retry", { id }))} />
          <SureButton label="Drop" sure="Drop the answer" act={() => act(() => chat.ask("outbox.drop", { id }))} />
        </>
      }
    />
  );
}

const MOST_TEXT = 200;
const UNKNOWN = "it may have arrived";

/** What is wrong with an account; undefined for one that works, or that somebody has switched off. */
function troubleOf({ enabled, connected, lastError, notices = [] }: Account): string | undefined {
  if (enabled === false) return undefined;
  const isDown = connected !== true && Boolean(lastError);
  const words = [...(isDown ? [lastError ?? ""] : []), ...notices.map(({ problem }) => problem)];
  return words.length > 0 ? words.join(" ") : undefined;
}
