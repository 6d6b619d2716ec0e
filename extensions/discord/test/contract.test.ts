import { channelContract } from "../../../test/contracts/channel.ts";
import { discordPlatform } from "./platform.ts";

channelContract("discord", discordPlatform);
