import type { Outcome } from "../../../types/journal.ts";
import type { AnswerFilter } from "../../../types/run/turn-kind.ts";
import type { RunEnd } from "../../../harness/log/run-end.ts";
import { answer } from "../../answer/answer.ts";
import { formIn } from "../../command-form.ts";
import { addressed } from "../addressed.ts";
import type { TurnPorts } from "../ports.ts";
import { endOf, isUnfinished, outcomeOf, wordsIn } from "../run-end.ts";
import type { StageEnd, Turn } from "../turn.ts";

/** Follows the run to its end and brings its answer to the chat. Rejects with the disk error that ended the run, if one did. */
export async function answerTurn(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const { run } = turn.get("active");
  try {
    turn.set({ outcome: await follow(turn, ports) });
  } catch (error) {
    // The session belongs to the run until it has ended, also when its answer cannot be brought.
    run.abort("shutdown");
    await run.stream.done;
    throw error;
  } finally {
    turn.get("typing").stop();
  }
  const diskError = run.diskError();
  if (diskError === undefined) return "next";
  // The lane waits for the disk and tells the chat; a record of this run would wait for the same disk first.
  await run.settle();
  throw diskError;
}

/** Channels are answered through the outbox; for web, HTTP and command line the transcript is the delivery. */
async function follow(turn: Turn, ports: TurnPorts): Promise<Outcome | "unfinished"> {
  const { run, barrier } = turn.get("active");
  const prepared = turn.get("prepared");
  const { kind } = prepared;
  const message = addressed(prepared.message);
  const filter = kind.filter?.(prepared.message, turn.get("session").entry, ports.clock.now());
  if (!message) return clientOutcome(await endOf(run), filter);
  const { journal, outbox } = ports;
  const [row] = prepared.rows;
  const inboxId = row?.id ?? 0;
  const isReplay = (row?.attempts ?? 0) > 0;
  return answer(
    {
      stream: run.stream,
      inboxId,
      message,
      kind,
      filter,
      commandForm: formIn(ports, message.from),
      style: ports.settings().chat(message.from),
      agent: prepared.agent,
      media: ports.media,
      closedPaths: ports.closedPaths,
      clock: ports.clock,
      rowsNow: () => journal.outbox.of(inboxId),
      earlier: isReplay ? await journal.outbox.of(inboxId) : [],
      earlierPreview: {
        id: isReplay ? await journal.outbox.previewOf(inboxId) : undefined,
        length: isReplay ? await journal.outbox.previewLengthOf(inboxId) : 0,
      },
      said: (callId) => barrier.said(callId),
    },
    outbox,
  );
}

function clientOutcome({ result, texts }: RunEnd, filter: AnswerFilter | undefined): Outcome | "unfinished" {
  if (isUnfinished(result)) return "unfinished";
  return outcomeOf(result, filter === undefined || filter(wordsIn(texts)) !== "");
}
