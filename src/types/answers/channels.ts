import { z } from "zod";
import type { Answer } from "../method.ts";

/** An account, as clients see it. Times are epoch milliseconds; null means never. */
export const shownAccount = z.looseObject({
  accountId: z.string(),
  enabled: z.boolean().optional(),
  configured: z.boolean().optional(),
  running: z.boolean().optional(),
  connected: z.boolean().optional(),
  lifecycle: z.string().optional(),
  lifecycleSince: z.number().nullish(),
  retryAt: z.number().nullish(),
  silentMs: z.number().nullish(),
  lastInboundAt: z.number().nullish(),
  lastOutboundAt: z.number().nullish(),
  lastTransportActivityAt: z.number().nullish(),
  reconnectAttempts: z.number().optional(),
  activity: z.string().optional(),
  lastError: z.string().nullish(),
  fix: z.string().nullish(),
  notices: z.array(z.looseObject({ problem: z.string(), fix: z.string() })).optional(),
  unasked: z.looseObject({ from: z.number(), until: z.number() }).optional(),
  self: z.looseObject({ id: z.string(), name: z.string() }).optional(),
});
export type ShownAccount = Answer<z.output<typeof shownAccount>>;

const capabilities = z.looseObject({
  channel: z.string(),
  label: z.string(),
  /** Unset for a channel that the config does not name. */
  accountId: z.string().optional(),
  limits: z.looseObject({
    text: z.number(),
    format: z.string(),
    media: z.number(),
    /** UTF-16 units of a text below a file. */
    caption: z.number().optional(),
    /** Files of one message. */
    album: z.number().optional(),
  }),
  /** Messages can come without a sound. */
  silent: z.boolean(),
  login: z.boolean(),
  logout: z.boolean(),
  probe: z.boolean(),
  /** Capabilities of a connected account's link, and `buttons` where some of its chats have them. */
  methods: z.array(z.string()).optional(),
});
/** Capabilities of an account's channel. */
export type Capabilities = Answer<z.output<typeof capabilities>>;

/** A field of the form that sets up an account. */
const field = z.looseObject({
  /** The flag of `channels add`. */
  name: z.string(),
  label: z.string(),
  /** The value must not be shown while it is typed. */
  secret: z.boolean(),
  /** The environment variable that can hold the value. */
  env: z.string().exactOptional(),
  /** The channel cannot work without this value. */
  required: z.boolean(),
});
export type SetupField = Answer<z.output<typeof field>>;

/** How an account of a channel is set up; `login`: it is linked with a code afterwards. */
const setup = z.looseObject({ channel: z.string(), label: z.string(), login: z.boolean(), fields: z.array(field) });
export type ShownSetup = Answer<z.output<typeof setup>>;

/** The answer of `channels.add`, `channels.enable` and `channels.remove`. */
const edited = z.looseObject({
  ok: z.boolean(),
  channel: z.string(),
  accountId: z.string(),
  /** The gateway does not apply a changed config by itself. */
  restartNeeded: z.boolean(),
});

const step = z.discriminatedUnion("kind", [
  // Clients need no encoder of their own: a QR code comes with its cells.
  z.looseObject({ kind: z.literal("qr"), text: z.string(), rows: z.array(z.string()).optional() }),
  z.looseObject({ kind: z.literal("code"), code: z.string() }),
  z.looseObject({ kind: z.literal("text"), text: z.string() }),
]);

/** The state of a login. Steps are numbered, so that a client that was disconnected misses none. */
const login = z.looseObject({
  loginId: z.string(),
  state: z.enum(["waiting", "linked", "failed"]),
  steps: z.array(step),
  /** Pass it with the next request to get only later steps. */
  next: z.number(),
  self: z.looseObject({ id: z.string(), name: z.string() }).optional(),
  /** Why it failed; for an operator's error also its fix and code. */
  error: z.string().optional(),
  fix: z.string().optional(),
  code: z.string().optional(),
});
export type LoginView = Answer<z.output<typeof login>>;

/** `holder`: another program that holds the link, and `fix` how a person ends it there. */
const logout = z.looseObject({
  channel: z.string(),
  accountId: z.string(),
  cleared: z.boolean(),
  loggedOut: z.boolean().optional(),
  holder: z.string().optional(),
  fix: z.string().optional(),
});
export type LoggedOut = Answer<z.output<typeof logout>>;

const probed = z.looseObject({
  channel: z.string(),
  accountId: z.string(),
  status: z.string(),
  message: z.string(),
  fix: z.string().optional(),
});

/** The answers of `channels.*`. */
export const channelAnswers = {
  status: z.looseObject({
    channelOrder: z.array(z.string()).optional(),
    channelLabels: z.record(z.string(), z.string()).optional(),
    channelDetailLabels: z.record(z.string(), z.string()).optional(),
    channelSystemImages: z.looseObject({}).optional(),
    channelMeta: z.array(z.looseObject({ id: z.string(), label: z.string(), detailLabel: z.string() })).optional(),
    ts: z.number().optional(),
    /** Each channel as a whole. */
    channels: z
      .record(
        z.string(),
        z.looseObject({
          configured: z.boolean(),
          running: z.boolean(),
          connected: z.boolean(),
          lastError: z.string().nullable(),
          fix: z.string().nullable(),
        }),
      )
      .optional(),
    channelDefaultAccountId: z.record(z.string(), z.string()).optional(),
    channelAccounts: z.record(z.string(), z.array(shownAccount)).optional(),
  }),
  capabilities: z.looseObject({ channels: z.array(capabilities) }),
  probe: z.looseObject({ accounts: z.array(probed) }),
  setups: z.looseObject({ channels: z.array(setup) }),
  edited,
  login,
  cancelled: z.looseObject({ ok: z.boolean() }),
  logout,
};

/** The answer of `send`. */
export const sendAnswer = z.looseObject({
  state: z.enum(["sent", "queued", "failed", "dry-run"]),
  channel: z.string(),
  accountId: z.string(),
  chatId: z.string(),
  chatKind: z.string(),
  runId: z.string().optional(),
  messageId: z.string().optional(),
  /** One for each chunk. */
  messageIds: z.array(z.string()).optional(),
  /** How many chunks it has. */
  blocks: z.number().optional(),
  reason: z.string().optional(),
  /** Why the account is not connected, and the fix. */
  problem: z.string().optional(),
  /** The gateway does not try the account again until a person fixes it. */
  isDead: z.boolean().optional(),
  possibleRepeat: z.boolean().optional(),
  /** Set when the message was to be silent; false when the channel has no silent messages. */
  silent: z.boolean().optional(),
});
export type SendReport = Answer<z.output<typeof sendAnswer>>;
