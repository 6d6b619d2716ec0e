export { Secret } from "../utils/secret.ts";
