import type { Template } from "./template.ts";

const schemaOf = () => ({
  type: "object",
  properties: { apiUrl: { type: "string" }, token: { type: "string", minLength: 1 } },
  required: ["apiUrl", "token"],
});

const withId = (text: string, id: string): string => text.replaceAll(`"the-id"`, JSON.stringify(id));

/** A channel for a service with two HTTP calls: one waits for events, one takes messages. */
export const channel: Template = {
  kind: "channel",
  about: () => "Connects a chat service that is asked for events over HTTP.",
  manifest: ({ id }) => ({ channels: [id], channelConfigs: { [id]: { schema: schemaOf() } } }),
  entry: ({ id }) => withId(ENTRY, id),
  test: ({ id }) => withId(TEST, id),
  enable: ({ id }) => [`openclaw config set channels.${id} '{"apiUrl": "https://chat.example.com", "token": "…"}'`],
};

const ENTRY = `/** Calls the service. The \`status\` of an error tells the gateway whether a send may be repeated. */
async function call({ apiUrl, token }, path, init = {}) {
  const response = await fetch(new URL(path, apiUrl), { ...init, headers: { authorization: \`Bearer \${token}\` } });
  const { status } = response;
  if (!response.ok) throw Object.assign(new Error(\`the service answered with \${status}\`), { status });
  return response.json();
}

/** A message in the form of the gateway. \`MessageSid\` is the same whenever the service offers the event again. */
const contextOf = (event, accountId) => ({
  Provider: "the-id",
  AccountId: accountId,
  MessageSid: event.id,
  Body: event.text,
  ChatType: event.chat.kind,
  To: event.chat.id,
  SenderId: event.from.id,
  SenderName: event.from.name,
  WasMentioned: event.mentionsBot,
  ...(event.file && { MediaUrl: event.file.url, MediaType: event.file.mime }),
  ...(event.replyTo && { ReplyToId: event.replyTo.id, ReplyToIsBot: event.replyTo.fromBot }),
});

const settingsOf = (cfg) => cfg.channels?.["the-id"] ?? {};

const channel = {
  id: "the-id",
  meta: { label: "the-id" },
  config: {
    listAccountIds: () => ["default"],
    resolveAccount: settingsOf,
    isConfigured: ({ apiUrl, token }) => Boolean(apiUrl && token),
  },

  // Answers. With the same key the service shows a message once, however often it is sent.
  outbound: {
    textChunkLimit: 4000,
    async sendText({ cfg, to, text, replyToId, idempotencyKey }) {
      const body = JSON.stringify({ key: idempotencyKey, chat: to, text, replyTo: replyToId });
      const { id } = await call(settingsOf(cfg), "/messages", { method: "POST", body });
      return { messageId: id };
    },
  },

  // Messages, until the signal aborts. When this throws, the gateway calls it again after a pause.
  gateway: {
    async startAccount({ account, accountId, abortSignal, channelRuntime, setStatus }) {
      // Throws for a wrong token, so that the account is not reported as connected.
      await call(account, "/");
      setStatus({ running: true });
      for (let after = 0; !abortSignal.aborted; ) {
        const { events } = await call(account, \`/events?after=\${after}\`, { signal: abortSignal });
        setStatus({ running: true });
        for (const event of events) {
          // Resolves when the message is on disk: only then may the service forget it.
          await channelRuntime.reply.dispatchReplyWithBufferedBlockDispatcher({
            ctx: contextOf(event, accountId),
            dispatcherOptions: {
              // The agent begins to write.
              onReplyStart: () => call(account, \`/typing?chat=\${event.chat.id}\`, { method: "POST" }),
            },
          });
          after = event.seq;
        }
      }
    },
  },
};

export default {
  id: "the-id",
  register(api) {
    api.registerChannel({ plugin: channel });
  },
};
`;

const TEST = `import { channelContract, openTestPlugin, pluginContract } from "openclaw/plugin-sdk/testing";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";

const vitest = { afterEach, describe, expect, test };
const root = join(import.meta.dirname, "..");
const TOKEN = "secret-of-the-test";

/** The service, for a test. */
async function openService() {
  const [events, shown, typing] = [[], [], []];
  let file;
  let acknowledged = 0;
  let wake = () => {};
  const server = createServer(async (request, response) => {
    response.setHeader("connection", "close");
    if (request.url === "/file") return response.end(file);
    if (request.headers.authorization !== \`Bearer \${TOKEN}\`) return response.writeHead(401).end();
    const url = new URL(request.url, "http://service");
    if (url.pathname === "/events") {
      const after = Number(url.searchParams.get("after"));
      acknowledged = Math.max(acknowledged, after);
      if (events.length === after) await new Promise((resolve) => (wake = resolve));
      return response.end(JSON.stringify({ events: events.slice(after) }));
    }
    if (url.pathname === "/typing") typing.push(url.searchParams.get("chat"));
    if (url.pathname !== "/messages") return response.end("{}");
    const message = await json(request);
    if (!shown.some(({ key }) => key === message.key)) shown.push(message);
    response.end(JSON.stringify({ id: \`sent-\${shown.findIndex(({ key }) => key === message.key) + 1}\` }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const apiUrl = \`http://127.0.0.1:\${server.address().port}\`;
  return {
    apiUrl,
    typedIn: ({ chat }) => typing.filter((id) => id === chat.id).length,
    shownIn: ({ chat }) => shown.filter((message) => message.chat === chat.id),
    unacknowledged: () => events.length - acknowledged,
    say({ chat }, text, { naming = false, replyingToBot = false, ...more } = {}) {
      const seq = events.length + 1;
      const event = { seq, id: \`m\${seq}\`, chat, from: { id: "u1", name: "Ada" }, text, mentionsBot: naming || replyingToBot };
      events.push({ ...event, ...more, ...(replyingToBot && { replyTo: { id: "sent-1", fromBot: true } }) });
      wake();
      return event.id;
    },
    attach(to, text, { bytes, mime }) {
      file = bytes;
      return this.say(to, text, { file: { url: \`\${apiUrl}/file\`, mime } });
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const peer = (kind, chat) => ({ channel: "the-id", account: "default", chat: { kind, id: chat } });

/** The channel of the plugin with its service, as the contract of channels wants it. */
async function open() {
  const service = await openService();
  const config = { apiUrl: service.apiUrl, token: TOKEN };
  const plugin = await openTestPlugin({ root, channels: { "the-id": config } });
  return {
    adapter: await plugin.channel("the-id"),
    config,
    direct: peer("direct", "u1"),
    group: peer("group", "lobby"),
    knowsKeys: true,
    say: service.say,
    attach: (...args) => service.attach(...args),
    typed: service.typedIn,
    shown: (to) => service.shownIn(to).map(({ text }) => text),
    answers: (to) => service.shownIn(to).map(({ replyTo }) => replyTo),
    unacknowledged: service.unacknowledged,
    async close() {
      service.close();
      await plugin.close();
    },
  };
}

pluginContract(vitest, { name: "the-id", root });
channelContract(vitest, { name: "the-id", open });
`;
