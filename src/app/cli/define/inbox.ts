import type { Command } from "commander";
import type { ListAsked } from "../commands/message/message-source.ts";
import type { Io } from "../io.ts";
import { wholeNumber, type Act } from "./act.ts";

interface Json {
  readonly json?: boolean;
}
type List = (io: Io, flags: ListAsked & Json) => Promise<number>;
type OnRow = (io: Io, row: string, flags: Json) => Promise<number>;

/** The commands about messages on their way: inbox, outbox, why. */
export function defineInbox(program: Command, act: Act): void {
  const inbox = program.command("inbox").description("received messages and their outcomes");
  defineList(inbox, act, {
    about: "list messages without an outcome, the latest first (the default)",
    only: "only those without an outcome (the default)",
    all: "those with an outcome too",
    run: async (...given) => (await import("../commands/inbox/inbox.ts")).inboxList(...given),
  });
  onRow(inbox, act, ["show", "one message and its replies"], async (...given) =>
    (await import("../commands/inbox/inbox.ts")).inboxShow(...given),
  );
  onRow(
    inbox,
    act,
    ["retry", "run a message that has no outcome, or was dropped, stopped or failed"],
    async (...given) => (await import("../commands/inbox/inbox.ts")).inboxRetry(...given),
  );
  onRow(inbox, act, ["drop", "end a message without an answer, and the run for it"], async (...given) =>
    (await import("../commands/inbox/inbox.ts")).inboxDrop(...given),
  );
  defineOutbox(program, act);
  program
    .command("why")
    .argument("<id>", "the platform's id of a message or reply, `#` and a row of the inbox, or a run")
    .description("show what happened to a message, step by step")
    .option("--channel <channel>", "only messages of this channel")
    .option("--json", "for scripts")
    .action(
      act(async (io, id: string, flags: Json & { channel?: string }) => {
        const { whyMessage } = await import("../commands/inbox/why.ts");
        return whyMessage(io, id, flags);
      }),
    );
}

function defineOutbox(program: Command, act: Act): void {
  const outbox = program.command("outbox").description("replies and their outcomes");
  defineList(outbox, act, {
    about: "list unsent replies, the latest first (the default)",
    only: "only those not sent (the default)",
    all: "those that were sent too",
    run: async (...given) => (await import("../commands/inbox/outbox.ts")).outboxList(...given),
  });
  onRow(outbox, act, ["show", "one message of a reply"], async (...given) =>
    (await import("../commands/inbox/outbox.ts")).outboxShow(...given),
  );
  onRow(outbox, act, ["retry", "send what was not sent; what may have arrived says so"], async (...given) =>
    (await import("../commands/inbox/outbox.ts")).outboxRetry(...given),
  );
  onRow(outbox, act, ["drop", "give up what was not sent"], async (...given) =>
    (await import("../commands/inbox/outbox.ts")).outboxDrop(...given),
  );
}

function defineList(group: Command, act: Act, texts: { about: string; only: string; all: string; run: List }): void {
  group
    .command("list", { isDefault: true })
    .description(texts.about)
    .option("--open", texts.only)
    .option("--all", texts.all)
    .option("--channel <channel>", "only this channel's")
    .option("--session <key>", "only this conversation's")
    .option("--agent <id>", "only this agent's")
    .option("--limit <count>", "most entries to list", wholeNumber(1, 1000), 50)
    .option("--json", "for scripts")
    .action(act(texts.run));
}

function onRow(group: Command, act: Act, [name, about]: readonly [string, string], run: OnRow): void {
  group
    .command(name)
    .argument("<row>", "row of the list")
    .description(about)
    .option("--json", "for scripts")
    .action(act(run));
}
