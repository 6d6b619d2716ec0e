import { Contributions } from "../../plugins/contributions.ts";
import { BUNDLED } from "./bundled.ts";

/** Everything that the extensions which come with the gateway add to it. Loads none of their parts. */
export const bundled = new Contributions(BUNDLED);
