import type { Command } from "commander";
import type { Act } from "./act.ts";

interface Json {
  readonly json?: boolean;
}

/** `pairing …` */
export function definePairing(program: Command, act: Act): void {
  const pairing = program.command("pairing").description("strangers who want to write to the agent");
  pairing
    .command("list")
    .argument("[channel]", "only of this channel")
    .description("who waits, and their codes")
    .option("--json", "for scripts")
    .action(
      act(async (io, channel: string | undefined, options: Json) => {
        const { pairingList } = await import("../commands/pairing.ts");
        return pairingList(io, channel, options);
      }),
    );
  pairing
    .command("approve")
    .argument("<channel>", "channel of the stranger")
    .argument("<code>", "the code that the stranger was given, or the stranger's id on the platform")
    .description("let a stranger in")
    .option("--account <accountId>", "of this account, where an id waits at several")
    .option("--notify", "tell the stranger")
    .option("--json", "for scripts")
    .action(
      act(async (io, channel: string, code: string, options: Json & { notify?: boolean; account?: string }) => {
        const { pairingApprove } = await import("../commands/pairing.ts");
        return pairingApprove(io, { channel, code }, options);
      }),
    );
}
