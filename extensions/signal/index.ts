import type { ChannelAdapter } from "openclaw/plugin-sdk";
import { SIGNAL, signalConfig } from "./config.ts";
import type { SignalConfig } from "./config.ts";

export { signalAccounts, signalConfig } from "./config.ts";
export type { SignalConfig } from "./config.ts";

/** Signal through signal-cli, which the gateway starts or finds at `httpUrl`. */
export const signal: ChannelAdapter<SignalConfig> = {
  id: SIGNAL,
  label: "Signal",
  limits: {
    // An app shows 2,048 bytes as they come (Signal-Android, SignalServiceMessageLimits); signal-cli puts what more the
    // same number of characters may take into a file beside, as the apps do.
    text: 2000,
    format: "signal-styled",
    // What the apps send and take (Signal-Android, PushMediaConstraints).
    media: 100 * 1_048_576,
    // A message has one text, with or without files. How many files is a bound of ours, below what the apps take.
    caption: { text: 2000 },
    album: { files: 10, bytes: 100 * 1_048_576 },
    // Each edit is a message to every member; the apps take 100 of them.
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
  // Java starts, and Signal is asked.
  probeMs: 20_000,
  async probe(config, ending) {
    const { askName } = await import("./ask.ts");
    return askName(config, ending);
  },
};
