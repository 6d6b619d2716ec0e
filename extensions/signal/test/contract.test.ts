import { channelContract } from "../../../test/contracts/channel.ts";
import { signalPlatform } from "./platform.ts";

channelContract("signal", signalPlatform);
