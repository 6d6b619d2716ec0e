import type { MessageKey } from "../../../../types/run/message-run.ts";
import { background } from "../../../../utils/background.ts";
import type { Fields } from "../../../../utils/fields.ts";
import type { PluginScope } from "../../scope.ts";
import type { ConnectedAccount } from "./accounts.ts";
import { ReplyCallbacks } from "./reply-callbacks.ts";

interface PassedOn {
  readonly account: ConnectedAccount;
  readonly eventKey: string;
  /** Resolves when the message is durable. */
  readonly stored: Promise<void>;
}

/**
 * Calls the callbacks of `replyOptions` for the run of a message, and ends the run when `replyOptions.abortSignal` aborts. A
 * message that comes again while its run is followed calls no second set.
 */
export function followReply(scope: PluginScope, { account, eventKey, stored }: PassedOn, options: Fields): void {
  const callbacks = new ReplyCallbacks(scope, options);
  const given = options["abortSignal"];
  const abort = given instanceof AbortSignal ? given : undefined;
  if ((callbacks.isEmpty && !abort) || account.followed.has(eventKey)) return;
  const key = { channel: account.channel, account: account.account, eventKey };
  const follow = async () => {
    account.followed.add(eventKey);
    const stop = abort && stopOnAbort(scope, { account, key, abort });
    try {
      // It may have been aborted before the message was known.
      stored.then(stop?.ifAborted, () => undefined);
      for await (const run of scope.ports.channels.runsOf({ key, stored }, scope.signal)) {
        stop?.ifAborted();
        await callbacks.follow(run);
      }
    } finally {
      account.followed.delete(eventKey);
      stop?.end();
    }
  };
  scope.outside(() => background("a plugin that follows the run of a message", follow(), scope.log));
}

interface AbortedMessage {
  readonly account: ConnectedAccount;
  readonly key: MessageKey;
  readonly abort: AbortSignal;
}

function stopOnAbort(scope: PluginScope, { account, key, abort }: AbortedMessage) {
  const ifAborted = () => {
    // The signal of an account that is closed may be part of it: the gateway ends or connects anew, and the run goes on.
    if (!abort.aborted || account.host.signal.aborted || !scope.accounts.has(account)) return;
    background("the end of a plugin's message", scope.ports.channels.stopMessage(key), scope.log);
  };
  abort.addEventListener("abort", ifAborted, { once: true });
  return { ifAborted, end: () => abort.removeEventListener("abort", ifAborted) };
}
