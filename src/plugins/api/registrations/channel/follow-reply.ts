import type { MessageRun } from "../../../../types/run/message-run.ts";
import { background } from "../../../../utils/background.ts";
import type { Fields } from "../../../../utils/fields.ts";
import type { PluginScope, ConnectedAccount } from "../../scope.ts";
import { ReplyCallbacks } from "./reply-callbacks.ts";

/** A message whose run a plugin follows. */
interface FollowedMessage {
  /** Resolves when the message is durable. */
  readonly stored: Promise<unknown>;
  /** Runs of the message, until the message has its outcome or the signal aborts. */
  runs(signal: AbortSignal): AsyncIterable<MessageRun>;
  /** Ends the message's run, or the message while it waits. */
  stop(): Promise<void>;
  /** Whether an abort is the plugin's own wish: the signals of the gateway end no run. */
  mayStop(): boolean;
}

/** Calls the callbacks of `replyOptions` for the run of a message, and ends the run when its `abortSignal` aborts. */
export function followReply(
  scope: PluginScope,
  message: FollowedMessage,
  { callbacks, options }: { readonly callbacks: ReplyCallbacks; readonly options: Fields },
): Promise<void> | undefined {
  const given = options["abortSignal"];
  const abort = given instanceof AbortSignal ? given : undefined;
  if (callbacks.isEmpty && !abort) return undefined;
  const stop = () => {
    if (abort?.aborted !== true || !message.mayStop()) return;
    background("the end of a plugin's message", message.stop(), scope.log);
  };
  const follow = async () => {
    abort?.addEventListener("abort", stop, { once: true });
    // The signal may have been aborted before the message was known.
    message.stored.then(stop, () => undefined);
    try {
      for await (const run of message.runs(scope.signal)) {
        stop();
        await callbacks.follow(run);
      }
    } finally {
      abort?.removeEventListener("abort", stop);
    }
  };
  return scope.outside(follow);
}

interface PassedOn {
  readonly account: ConnectedAccount;
  readonly eventKey: string;
  readonly stored: Promise<void>;
}

/** The same for a message of a channel. One that comes again while its run is followed calls no second set of callbacks. */
export function followMessage(scope: PluginScope, { account, eventKey, stored }: PassedOn, options: Fields): void {
  if (account.followed.has(eventKey)) return;
  const { channels } = scope.ports;
  const key = { channel: account.channel, account: account.account, eventKey };
  const message: FollowedMessage = {
    stored,
    runs: (signal) => channels.runsOf({ key, stored }, signal),
    stop: () => channels.stopMessage(key),
    // Many plugins pass on the signal of the account. When that is closed, the gateway ends or connects it anew.
    mayStop: () => !account.host.signal.aborted && scope.accounts.has(account),
  };
  const following = followReply(scope, message, { callbacks: new ReplyCallbacks(scope, options), options });
  if (!following) return;
  account.followed.add(eventKey);
  const followed = following.finally(() => account.followed.delete(eventKey));
  background("a plugin that follows the run of a message", followed, scope.log);
}
