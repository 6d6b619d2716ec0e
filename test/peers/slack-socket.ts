import { LogLevel, SocketModeReceiver } from "@slack/bolt";
import type { FakeSlack } from "../../extensions/slack/test/fake-slack.ts";
import { slack } from "../../extensions/slack/index.ts";
import { Host } from "../contracts/channel.ts";

/** Stands for the journal: it stores the texts of events, and the test may make it wait. */
export class Journal {
  /** Every text that was offered, once for each time. */
  readonly offered: string[] = [];
  #open = Promise.resolve();

  /** The journal does not finish a write until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#open = promise;
    return resolve;
  }

  async store(texts: readonly string[]): Promise<void> {
    this.offered.push(...texts);
    await this.#open;
  }
}

/** A client of Socket Mode that stores each event in a journal and acknowledges it then. */
export interface SocketClient {
  /** What the operator was told, as far as the client tells anybody. */
  readonly reports: readonly unknown[];
  stop(): Promise<void>;
}

export type StartClient = (fake: FakeSlack, journal: Journal) => Promise<SocketClient>;

/** Our adapter. Resolves when it is connecting. */
export const startAdapter: StartClient = async (fake, journal) => {
  const host = new Host();
  host.receive = (messages) => journal.store(messages.map(({ text }) => text));
  const { botToken, appToken, url: apiUrl } = fake;
  const link = await slack.connect(slack.config.parse({ botToken, appToken, apiUrl }), host);
  return { reports: host.reports, stop: () => link.close() };
};

/** How long the library waits for a pong, and before it connects again; 5 s unless it is told otherwise. */
const PING_MS = 250;

/** Slack's library, in the version that Bolt brings. */
export function openLibrary({ url, appToken }: FakeSlack, clientPingTimeout = PING_MS) {
  const retryConfig = { retries: 20, minTimeout: 1, factor: 1 };
  const clientOptions = { slackApiUrl: url, retryConfig };
  return new SocketModeReceiver({
    appToken,
    clientPingTimeout,
    logLevel: LogLevel.ERROR,
    installerOptions: { clientOptions },
  }).client;
}

/** Resolves when Slack has greeted. */
export const startLibrary: StartClient = async (fake, journal) => {
  const client = openLibrary(fake);
  client.on("slack_event", ({ ack, body }: { ack: () => Promise<void>; body: { event: { text: string } } }) => {
    const stored = journal.store([body.event.text]).then(ack);
    // The socket is gone: Slack delivers the event again.
    stored.catch(() => undefined);
  });
  await client.start();
  return { reports: [], stop: () => client.disconnect() };
};
