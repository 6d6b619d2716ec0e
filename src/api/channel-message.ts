/** `openclaw/plugin-sdk/channel-message`. */

export interface TypingOptions {
  /** Shows the sign for a few seconds. */
  start(): Promise<unknown>;
  /** Removes the typing indicator. */
  stop?(): Promise<unknown>;
  onStartError(error: unknown): void;
  onStopError?(error: unknown): void;
  /** Milliseconds between two calls of `start`; 3 s when unset. */
  readonly keepaliveIntervalMs?: number;
  /** Milliseconds after which the sign ends by itself; a minute when unset. */
  readonly maxDurationMs?: number;
}

export interface TypingCallbacks {
  onReplyStart(): Promise<void>;
  onIdle(): void;
  onCleanup(): void;
}

/** Keeps a channel's sign that an answer is being written. `onReplyStart` again prolongs it; no call rejects. */
export function createTypingCallbacks(options: TypingOptions): TypingCallbacks {
  const { keepaliveIntervalMs = 3000, maxDurationMs = 60_000 } = options;
  let timer: NodeJS.Timeout | undefined;
  let endsAt = 0;
  const show = () => options.start().then(() => undefined, options.onStartError);
  const end = () => {
    if (timer === undefined) return;
    clearInterval(timer);
    timer = undefined;
    options.stop?.().catch((error: unknown) => (options.onStopError ?? options.onStartError)(error));
  };
  const tick = () => (Date.now() < endsAt ? void show() : end());
  return {
    async onReplyStart() {
      endsAt = Date.now() + maxDurationMs;
      if (timer !== undefined) return;
      timer = setInterval(tick, keepaliveIntervalMs).unref();
      await show();
    },
    onIdle: end,
    onCleanup: end,
  };
}
