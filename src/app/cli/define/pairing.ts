import type { Command } from "commander";
import type { Act } from "./act.ts";

interface Json {
  readonly json?: boolean;
}

/** `pairing …` */
export function definePairing(program: Command, act: Act): void {
  const pairing = program.command("pairing").description("strangers who want to write to an agent");
  pairing
    .command("list")
    .argument("[channel]", "only for this channel")
    .description("list strangers who wait, and their codes")
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
    .argument("<code>", "the stranger's code, or id on the platform")
    .description("let a stranger in")
    .option("--account <accountId>", "account, if the same id waits at several")
    .option("--notify", "inform the stranger")
    .option("--json", "for scripts")
    .action(
      act(async (io, channel: string, code: string, options: Json & { notify?: boolean; account?: string }) => {
        const { pairingApprove } = await import("../commands/pairing.ts");
        return pairingApprove(io, { channel, code }, options);
      }),
    );
}
