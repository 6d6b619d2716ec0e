import type { ChannelAdapter } from "openclaw/plugin-sdk";
import { SIGNAL, signalConfig } from "./config.ts";
import type { SignalConfig } from "./config.ts";

export { signalAccounts, signalConfig } from "./config.ts";
export type { SignalConfig } from "./config.ts";

/** Signal through signal-cli, which the gateway starts or reaches at `httpUrl`. */
export const signal: ChannelAdapter<SignalConfig> = {
  id: SIGNAL,
  label: "Signal",
  limits: {
    // Apps show 2,048 bytes of a message directly (Signal-Android, SignalServiceMessageLimits). signal-cli, like the apps, sends a text
    // with more bytes as a file.
    text: 2000,
    format: "signal-styled",
    // The limit of the apps (Signal-Android, PushMediaConstraints).
    media: 100 * 1_048_576,
    // A message has one text, with or without files. The number of files is our own limit, below that of the apps.
    caption: { text: 2000 },
    album: { files: 10, bytes: 100 * 1_048_576 },
    // Each edit is a message to every member; the apps accept 100 edits.
    editEveryMs: 5000,
  },
  config: signalConfig,
  async connect(config, host) {
    const { connect } = await import("./connect.ts");
    return connect(config, host);
  },
  async login(config, host) {
    const { link } = await import("./login.ts");
    return link(config, host);
  },
  unlinking({ account = "<account>" }) {
    return {
      holder: "signal-cli holds the link, not the gateway.",
      fix:
        "Remove the device on the phone (Signal, Settings, Linked devices), then run: " +
        `signal-cli -a ${account} deleteLocalAccountData`,
    };
  },
  // A probe starts Java and asks Signal.
  probeMs: 20_000,
  async probe(config, ending) {
    const { askName } = await import("./ask.ts");
    return askName(config, ending);
  },
};
