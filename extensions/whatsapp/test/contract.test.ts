import { channelContract } from "../../../test/contracts/channel.ts";
import { whatsappPlatform } from "./platform.ts";

channelContract("whatsapp", whatsappPlatform);
