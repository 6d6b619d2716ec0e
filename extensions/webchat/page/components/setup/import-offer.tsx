import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Chat } from "../../model/chat.ts";
import type { PageState } from "../../model/state.ts";
import { rich } from "../../words/rich.ts";
import { gatewayText } from "../../words/gateway-sentences.ts";
import { t } from "../../words/words.ts";

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
    <section class="import-offer" aria-label={t("OpenClaw on this machine")}>
      <h3>{t("OpenClaw was here before")}</h3>
      <p>
        {t(
          "{dir} has {kinds}. It is only read. The gateway restarts for it, and the channels stay off until the other gateway is stopped.",
          { dir: found.dir, kinds: countsText(found.kinds, "fresh") ?? t("nothing") },
        )}
      </p>
      {found.warnings.map((warning) => (
        <p key={warning} class="hint">
          {warning}
        </p>
      ))}
      <button type="button" class="primary" disabled={isStarted} onClick={() => start(found.dir)}>
        {isStarted ? t("Restarting for the import…") : t("Bring it over")}
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
        {t("{dir} was not imported: {error}", { dir: last.dir, error: last.error })}
      </p>
    );
  const failed = countsText(last.kinds, "failed");
  return (
    <p role="status">
      {t("{dir} was imported: {kinds}.", { dir: last.dir, kinds: countsText(last.kinds, "taken") ?? t("nothing") })}
      {failed !== undefined && ` ${t("Failed: {kinds}.", { kinds: failed })}`}
      {last.channelsOff && " "}
      {last.channelsOff &&
        rich("The channels stay off until you have stopped the other gateway and run {command}.", {
          command: <code>openclaw onboard --adopt</code>,
        })}
    </p>
  );
}

/** As `conversations: 12, people: 3`; undefined for nothing. */
function countsText(kinds: Kinds, which: "fresh" | "taken" | "failed"): string | undefined {
  const some = kinds
    .filter((kind) => kind[which] > 0)
    .map((kind) => `${gatewayText(kind.title.toLowerCase())}: ${kind[which]}`);
  return some.length > 0 ? some.join(", ") : undefined;
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
