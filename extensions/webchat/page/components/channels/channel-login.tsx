import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { readLogin, type Ask, type ReportedAccount, type LoginView } from "../../channels/channels.ts";
import { rich } from "../../words/rich.ts";
import { t } from "../../words/words.ts";

interface LoginProps {
  readonly ask: Ask;
  readonly account: ReportedAccount;
  readonly done: () => void;
}

/** Links an account: shows the current code for the app until the account is linked or the login is cancelled. */
export function ChannelLogin(props: LoginProps): VNode {
  const { ask, account, done } = props;
  const view = useLogin(ask, account);
  return (
    <div class="channel-login" role="group" aria-label={t("Link {label}", { label: account.label })}>
      {view?.state === "waiting" && view.qr !== undefined && <QrCode rows={view.qr} />}
      {view?.state === "waiting" && view.code !== undefined && (
        <p>{rich("Type this code into the app: {code}", { code: <code>{view.code}</code> })}</p>
      )}
      <p role="status">{statusOf(view)}</p>
      <button type="button" class="quiet" onClick={done}>
        {view?.state === "waiting" || view === undefined ? t("Cancel") : t("Close")}
      </button>
    </div>
  );
}

function statusOf(view: LoginView | undefined): string {
  if (view?.state === "linked") return t("Linked.");
  if (view?.message !== undefined) return view.message;
  return view?.qr === undefined ? t("Requesting a code …") : t("Scan it with the app (linked devices).");
}

/** Runs one login while the component is mounted. */
function useLogin(ask: Ask, { channel, account }: ReportedAccount): LoginView | undefined {
  const [view, setView] = useState<LoginView>();
  useEffect(() => {
    let isGone = false;
    let loginId = "";
    const follow = async (): Promise<void> => {
      let now = readLogin(await ask("channels.login.start", { channel, accountId: account }));
      ({ loginId } = now);
      while (!isGone && now.state === "waiting") {
        setView(now);
        now = readLogin(await ask("channels.login.wait", { loginId, next: now.next, timeoutMs: 20_000 }), now);
      }
      setView(now);
    };
    follow().catch((error: unknown) =>
      setView({
        loginId,
        next: 0,
        state: "failed",
        message: error instanceof Error ? error.message : t("The request failed."),
      }),
    );
    return () => {
      isGone = true;
      // If the request fails, the login expires.
      if (loginId !== "") ask("channels.login.cancel", { loginId }).catch(() => undefined);
    };
  }, [ask, channel, account]);
  return view;
}

/** Modules of empty margin that a QR code needs on each side. */
const MARGIN = 4;

function QrCode(props: { rows: readonly string[] }): VNode {
  const { rows } = props;
  const size = rows.length + MARGIN * 2;
  const cells = rows.flatMap((row, y) =>
    Array.from(
      row.matchAll(/1+/g),
      (run) => `M${run.index + MARGIN} ${y + MARGIN}h${run[0].length}v1h-${run[0].length}z`,
    ),
  );
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={t("QR code to scan with the app")}>
      <rect width={size} height={size} />
      <path d={cells.join("")} shape-rendering="crispEdges" />
    </svg>
  );
}
