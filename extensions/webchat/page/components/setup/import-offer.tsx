import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Chat } from "../../model/chat.ts";
import type { PageState } from "../../model/state.ts";

type Detected = Answers["openclaw.import.detect"];
type Kinds = NonNullable<Detected["found"]>["kinds"];

interface OfferProps {
  readonly state: PageState;
  readonly chat: Chat;
}

/** How the last import ended, for a day. */
export function ImportEnd(props: OfferProps): VNode | null {
  const { last } = useImport(props, false).detected ?? {};
  return last && last.at > Date.now() - DAY_MS ? <LastImport last={last} /> : null;
}

const DAY_MS = 86_400_000;

/** The offer to bring over what OpenClaw has on this machine. Nothing where there is none. */
export function ImportOffer({ state, chat }: OfferProps): VNode | null {
  const { detected, problem, start, isStarted } = useImport({ state, chat }, true);
  const found = detected?.found;
  if (!found) return null;
  return (
    <section class="import-offer" aria-label="OpenClaw on this machine">
      <h3>OpenClaw was here before</h3>
      <p>
        {found.dir} has {countsText(found.kinds, "fresh")}. It is only read. The gateway restarts for it, and the
        channels stay off until the other gateway is stopped.
      </p>
      {found.warnings.map((warning) => (
        <p key={warning} class="hint">
          {warning}
        </p>
      ))}
      <button type="button" class="primary" disabled={isStarted} onClick={() => start(found.dir)}>
        {isStarted ? "Restarting for the import…" : "Bring it over"}
      </button>
      {problem !== undefined && (
        <p class="outcome error" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}

function LastImport({ last }: { readonly last: NonNullable<Detected["last"]> }): VNode {
  if (last.error !== undefined)
    return (
      <p class="outcome error" role="alert">
        {last.dir} was not imported: {last.error}
      </p>
    );
  const failed = countsText(last.kinds, "failed");
  return (
    <p role="status">
      {last.dir} was imported: {countsText(last.kinds, "taken")}
      {failed === "nothing" ? "." : `; failed: ${failed}.`}
      {last.channelsOff && (
        <>
          {" "}
          The channels stay off until you have stopped the other gateway and run <code>openclaw onboard --adopt</code>.
        </>
      )}
    </p>
  );
}

/** As `12 conversations, 3 people`. */
function countsText(kinds: Kinds, which: "fresh" | "taken" | "failed"): string {
  const some = kinds.filter((kind) => kind[which] > 0).map((kind) => `${kind.title.toLowerCase()}: ${kind[which]}`);
  return some.length > 0 ? some.join(", ") : "nothing";
}

function useImport({ state, chat }: OfferProps, look: boolean) {
  const [detected, setDetected] = useState<Detected>();
  const [problem, setProblem] = useState<string>();
  const [isStarted, setStarted] = useState(false);
  const mayImport = state.hello?.methods.includes("openclaw.import.detect") === true && chat.mayChangeModel;
  const isConnected = state.link.state === "connected";
  useEffect(() => {
    if (!mayImport || !isConnected) return undefined;
    let isOver = false;
    chat.ask("openclaw.import.detect", { look }).then(
      (answer) => isOver || (setDetected(answer), setStarted(false)),
      (error: unknown) => isOver || setProblem(textOf(error)),
    );
    return () => void (isOver = true);
  }, [chat, mayImport, isConnected, look]);
  const start = (dir: string): void => {
    setStarted(true);
    setProblem(undefined);
    chat.ask("openclaw.import.start", { dir }).then(
      // Its end is told there, also when the conversation has messages then.
      () => chat.visit("needs"),
      (error: unknown) => (setStarted(false), setProblem(textOf(error))),
    );
  };
  return { detected, problem, start, isStarted };
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
