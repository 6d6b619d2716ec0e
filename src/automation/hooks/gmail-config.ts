import { z } from "zod";
import { THINK_LEVELS } from "../../types/run/model.ts";
import { about, secretField } from "../../utils/config.ts";

const word = z.string().min(1);
const path = z.string().regex(/^\/[A-Za-z0-9_./~-]*$/, "write it as /gmail-pubsub");
const port = z.int().min(1).max(65_535);

const serve = z.strictObject({
  bind: word.default("127.0.0.1").meta(about("Address", "Where the watcher listens for Google's notices.")),
  port: port.default(8788).meta(about("Port", "Its port.")),
  path: path
    .optional()
    .meta(
      about("Path", "Its path; `/gmail-pubsub` when unset, and `/` behind Tailscale, which takes its own path away."),
    ),
});

const tailscale = z.strictObject({
  mode: z
    .enum(["off", "serve", "funnel"])
    .default("off")
    .meta(
      about(
        "Mode",
        "Lets Tailscale pass Google's notices on: `funnel` from the internet, `serve` from your own network.",
      ),
    ),
  path: path.default("/gmail-pubsub").meta(about("Path", "The path that Tailscale serves.")),
  target: word.optional().meta(about("Target", "Where Tailscale passes them on to; the watcher's port when unset.")),
});

/** `hooks.gmail` */
export const gmailConfig = z.strictObject({
  account: word
    .optional()
    .meta(about("Account", "Mail address that is watched with the program `gog`; nothing is watched when unset.")),
  label: word.default("INBOX").meta(about("Label", "Only mail with this label.")),
  topic: word
    .optional()
    .meta(about("Topic", "Topic of Google Pub/Sub, as `projects/<project>/topics/<name>`; needed.")),
  subscription: word
    .optional()
    .meta(about("Subscription", "Its subscription, which you make once; the gateway does not use it.")),
  pushToken: secretField
    .optional()
    .meta(about("Push token", "What Google shows to the watcher, as the subscription's address has it; needed.")),
  hookUrl: z
    .url()
    .optional()
    .meta(about("Address of the hook", "Where the watcher reports mail; this gateway's `/hooks/gmail` when unset.")),
  includeBody: z.boolean().default(true).meta(about("Body", "Reports the text of mail, too.")),
  maxBytes: z.int().min(1).max(1_048_576).default(20_000).meta(about("Size", "Most bytes of that text.")),
  renewEveryMinutes: z
    .int()
    .min(1)
    .max(10_000)
    .default(720)
    .meta(about("Renewal", "Google ends a watch after seven days; it is renewed every so many minutes.")),
  allowUnsafeExternalContent: z
    .boolean()
    .default(false)
    .meta(about("Trust", "Gives mail to the model without the marks of untrusted content. Anybody can write mail.")),
  serve: serve.prefault({}).meta(about("Server", "How the watcher listens.")),
  tailscale: tailscale.prefault({}).meta(about("Tailscale", "How Google reaches the watcher.")),
  model: word.optional().meta(about("Model", "Model of the turns about mail.")),
  thinking: z.enum(THINK_LEVELS).optional().meta(about("Thinking", "How much the model thinks about mail.")),
});

export type GmailConfig = z.output<typeof gmailConfig>;
