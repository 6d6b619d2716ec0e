export { MASK, Secret } from "../utils/secrets/secret.ts";
