import { join } from "node:path";
import { test as base } from "vitest";
import { startFakeModel } from "../../fakes/model.ts";
import { startFakeTelegram } from "../../fakes/telegram.ts";
import { makeHome, type GatewayUnderTest, type Home, type LogLine } from "./process.ts";
import type { StatePlace } from "./state-files.ts";
import { merge, Peers, type Config } from "./world.ts";

/** What the places of a gateway have in common. */
interface Settings {
  /** How many tests have a place in it. */
  readonly places: number;
  /** Over the usual config of the gateway. */
  readonly config?: Config;
  /** Over the usual config of each place's Telegram account. */
  readonly account?: Config;
  /** In place of the usual model of each place; the first one answers. */
  readonly models?: readonly ({ readonly id: string } & Config)[];
}

/** What one test sees of the gateway: the log lines about its own place, and those about no place. */
export interface GatewayPart {
  readonly port: number;
  readonly lines: readonly LogLine[];
  /** The first log line, past or to come, with this message, or that fits. */
  logged(message: string | ((line: LogLine) => boolean)): Promise<LogLine>;
}

/** One test's place in a gateway that others use too: a Telegram account, an agent and a model of its own. */
export class Place extends Peers {
  readonly name: string;
  readonly #home: Home;
  readonly #gateway: GatewayUnderTest;

  constructor(name: string, { telegram, model }: Peers, running: { home: Home; gateway: GatewayUnderTest }) {
    super(telegram, model);
    this.name = name;
    this.#home = running.home;
    this.#gateway = running.gateway;
  }

  /** Its part of the gateway, which runs already. */
  start(): { home: StatePlace; gateway: GatewayPart; workspace: string } {
    const gateway = this.#gateway;
    const isOurs = (line: LogLine) => this.#isOurs(line);
    return {
      home: { stateDir: this.#home.stateDir, account: this.name },
      workspace: join(this.#home.dir, this.name),
      gateway: {
        port: gateway.port,
        get lines() {
          return gateway.lines.filter(isOurs);
        },
        logged: (message) =>
          gateway.logged(
            (line) => isOurs(line) && (typeof message === "string" ? line["msg"] === message : message(line)),
          ),
      },
    };
  }

  #isOurs({ session, account }: LogLine): boolean {
    if (typeof session === "string") return session.includes(`:${this.name}:`);
    return account === undefined || account === this.name;
  }
}

const MODELS = [{ id: "fake-1", contextWindow: 100_000, maxTokens: 4096 }];

function configOf(all: Readonly<Record<string, Peers>>, settings: Settings): Config {
  const { config = {}, account = {}, models = MODELS } = settings;
  const names = Object.keys(all);
  const each = (of: (peers: Peers) => Config) =>
    Object.fromEntries(Object.entries(all).map(([name, peers]) => [name, of(peers)]));
  const usual = {
    models: {
      providers: each(({ model }) => ({ baseUrl: model.url, apiKey: "x", api: "openai-completions", models })),
    },
    agents: {
      // The first is the default agent, whose session keys have another form than those of the others.
      list: [
        { id: "nobody" },
        ...names.map((id) => ({ id, workspace: `~/${id}`, model: { primary: `${id}/${models[0]?.id}` } })),
      ],
    },
    bindings: names.map((name) => ({ agentId: name, match: { channel: "telegram", accountId: name } })),
    messages: { queue: { debounceMs: 0 } },
    channels: {
      telegram: {
        accounts: each(({ telegram }) => {
          const { url: apiRoot, token: botToken } = telegram;
          const usually = { botToken, apiRoot, dmPolicy: "open", allowFrom: ["*"], streaming: { mode: "off" } };
          return merge(usually, account);
        }),
      },
    },
  };
  return merge(usual, config);
}

async function peersOf(count: number): Promise<Readonly<Record<string, Peers>>> {
  const peers = Array.from({ length: count }, async (_, index) => {
    const [telegram, model] = await Promise.all([startFakeTelegram(), startFakeModel()]);
    return [`place${index}`, new Peers(telegram, model)] as const;
  });
  return Object.fromEntries(await Promise.all(peers));
}

/** Tests with one gateway for all of a file. No test stops it, and none looks at what belongs to no place. */
export const sharedTest = (settings: Settings) =>
  base.extend<{ places: Place[]; world: Place }>({
    places: [
      // eslint-disable-next-line no-empty-pattern
      async ({}, use) => {
        const peers = await peersOf(settings.places);
        const home = await makeHome(configOf(peers, settings));
        const running = { home, gateway: await home.start() };
        await use(Object.entries(peers).map(([name, own]) => new Place(name, own, running)));
        await home.remove();
        await Promise.all(Object.values(peers).map((own) => own.close()));
      },
      { scope: "file" },
    ],
    world: async ({ places }, use) => {
      const place = places.pop();
      if (!place) throw new Error("more tests than places: give sharedTest more of them");
      await use(place);
    },
  });
