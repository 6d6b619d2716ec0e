import { Option, type Command } from "commander";
import { listOf, type Act } from "./act.ts";

const commands = () => import("../commands/devices.ts");

interface Json {
  readonly json?: boolean;
}

/** `devices …` */
export function defineDevices(program: Command, act: Act): void {
  const devices = program.command("devices").description("phones, browsers and programs with a token of their own");
  devices
    .command("list", { isDefault: true })
    .description("list devices, and those that want more rights (the default)")
    .option("--json", "for scripts")
    .action(act(async (io, flags: Json) => (await commands()).devicesList(io, flags)));
  devices
    .command("code")
    .description("print a code that pairs one device without the gateway's token")
    .option("--url <address>", "address under which the device reaches the gateway")
    .option("--full", "the device may do everything; what a person in a chat needs unless given")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: Json & { url?: string; full?: boolean }) => (await commands()).devicesCode(io, flags)),
    );
  devices
    .command("approve")
    .argument("[request]", "id of the request; may be left out when one device waits")
    .description("give a device the rights that it wants")
    .option("--latest", "the latest request")
    .option("--json", "for scripts")
    .action(
      act(async (io, request: string | undefined, flags: Json & { latest?: boolean }) =>
        (await commands()).devicesApprove(io, request, flags),
      ),
    );
  devices
    .command("reject")
    .argument("<request>", "id of the request")
    .description("leave a device with the rights that it has")
    .option("--json", "for scripts")
    .action(act(async (io, request: string, flags: Json) => (await commands()).devicesReject(io, request, flags)));
  devices
    .command("remove")
    .argument("<device>", "id of the device, or its beginning")
    .description("forget a device, and disconnect it")
    .option("--json", "for scripts")
    .action(act(async (io, device: string, flags: Json) => (await commands()).devicesRemove(io, device, flags)));
  defineTokens(devices, act);
}

type OfDevice = Json & { readonly device: string; readonly role?: string };

/** `devices rename|rotate|revoke` */
function defineTokens(devices: Command, act: Act): void {
  const ofDevice = (name: string) =>
    devices
      .command(name)
      .requiredOption("--device <id>", "id of the device, or its beginning")
      .option("--json", "for scripts");
  const role = () => new Option("--role <role>", "`operator`, the only one").default("operator").hideHelp();
  ofDevice("rename")
    .description("give a device a name")
    .requiredOption("--name <text>", "up to 64 characters")
    .action(act(async (io, flags: OfDevice & { name: string }) => (await commands()).devicesRename(io, flags)));
  ofDevice("rotate")
    .description("give a device a new token, which only it gets to see")
    .option("--scope <scopes...>", "fewer rights than it has", listOf)
    .addOption(role())
    .action(
      act(async (io, flags: OfDevice & { scope?: readonly string[] }) => (await commands()).devicesRotate(io, flags)),
    );
  ofDevice("revoke")
    .description("take a device's token away, and disconnect it")
    .addOption(role())
    .action(act(async (io, flags: OfDevice) => (await commands()).devicesRevoke(io, flags)));
}
