/** `openclaw/plugin-sdk/hook-runtime`: helpers of channels that call hooks themselves. */
import { defined } from "../utils/defined.ts";
import { errorText } from "../utils/text/error-text.ts";

/** A message that a channel has sent, or could not send. */
export interface SentMessage {
  readonly to: string;
  readonly content: string;
  readonly success: boolean;
  readonly error?: string | undefined;
  readonly channelId: string;
  readonly accountId?: string | undefined;
  /** The chat; `to` when unset. */
  readonly conversationId?: string | undefined;
  readonly messageId?: string | undefined;
  readonly sessionKey?: string | undefined;
  readonly runId?: string | undefined;
}

export type CanonicalSentMessage = SentMessage & { readonly conversationId: string };

/** Does not wait for a hook. A failure is reported as a warning of the process, with `label`. */
export function fireAndForgetHook(work: Promise<unknown>, label: string, log?: (message: string) => void): void {
  const report = log ?? ((message: string) => process.emitWarning(message));
  work.catch((error: unknown) => report(`${label}: ${errorText(error)}`));
}

export const buildCanonicalSentMessageHookContext = (sent: SentMessage): CanonicalSentMessage => ({
  ...sent,
  conversationId: sent.conversationId ?? sent.to,
});

/** The second argument of the hooks of messages. */
export const toPluginMessageContext = ({
  channelId,
  accountId,
  conversationId,
  messageId,
  sessionKey,
  runId,
}: CanonicalSentMessage) => ({ channelId, ...defined({ accountId, conversationId, messageId, sessionKey, runId }) });

/** The event of `message_sent`. */
export const toPluginMessageSentEvent = ({ to, content, success, error, messageId }: CanonicalSentMessage) => ({
  to,
  content,
  success,
  ...defined({ error, messageId }),
});
