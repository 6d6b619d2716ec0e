export { MASK, Secret } from "../utils/secret.ts";
