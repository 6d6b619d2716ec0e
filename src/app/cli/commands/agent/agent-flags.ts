export interface AgentFlags {
  readonly message: string;
  readonly sessionKey?: string;
  readonly sessionId?: string;
  readonly to?: string;
  readonly channel?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly thinking?: string;
  /** Seconds. */
  readonly timeout?: number;
  readonly json?: boolean;
  readonly local?: boolean;
  readonly deliver?: boolean;
  readonly url?: string;
  readonly token?: string;
  readonly verbose?: boolean | string;
}

/** The result of one message. */
export interface AgentAnswer {
  readonly runId: string;
  readonly text: string;
  readonly error?: string;
  readonly sessionKey?: string;
  readonly usage?: unknown;
  readonly model?: unknown;
}
