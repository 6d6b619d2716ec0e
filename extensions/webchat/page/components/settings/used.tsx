import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Chat } from "../../model/chat.ts";
import { count, dollars } from "../../model/format.ts";
import { readDays, type UsedDay } from "../../settings/used.ts";

interface Read {
  readonly session: readonly UsedDay[];
  readonly all: readonly UsedDay[];
}

/** What the session and everything took on each of the last seven days. Nothing when it cannot be read. */
export function Used({ sessionKey, chat }: { readonly sessionKey: string; readonly chat: Chat }): VNode | null {
  const [read, setRead] = useState<Read>();
  useEffect(() => {
    let isOver = false;
    const asked = { range: "7d" };
    Promise.all([
      chat.ask("sessions.usage", { ...asked, key: sessionKey, groupBy: "family" }),
      chat.ask("usage.cost", asked),
    ]).then(
      ([session, all]) => !isOver && setRead({ session: readDays(session), all: readDays(all) }),
      () => undefined,
    );
    return () => void (isOver = true);
  }, [chat, sessionKey]);
  if (read === undefined || read.all.length === 0) return null;
  return (
    <section aria-label="Usage">
      <h3>Usage</h3>
      <dl class="rights">
        {read.all.map((day) => (
          <div key={day.day}>
            <dt>{day.day}</dt>
            <dd>
              {amount(day)} <span class="right-source">{ofSession(day, read.session)}</span>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

const amount = ({ tokens, cost }: UsedDay): string =>
  [`${count(tokens)} tokens`, dollars(cost)].filter((part) => part !== undefined).join(" · ");

function ofSession({ day }: UsedDay, session: readonly UsedDay[]): string {
  const own = session.find((other) => other.day === day);
  return own === undefined ? "none of it in this session" : `in this session: ${amount(own)}`;
}
