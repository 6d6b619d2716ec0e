import { resizeWith, type Resize, type Sharp } from "./resize.ts";

/** A resizer that uses sharp, if it is installed beside the gateway. It is no dependency because its binaries have about 20 MB. */
export async function findResizer(): Promise<Resize | undefined> {
  // A variable, so that neither the bundler nor the type checker looks for the package.
  const name: string = "sharp";
  const loaded: unknown = await import(name).catch(() => undefined);
  const made = typeof loaded === "object" && loaded !== null && "default" in loaded ? loaded.default : undefined;
  return isSharp(made) ? resizeWith(made) : undefined;
}

const isSharp = (made: unknown): made is Sharp => typeof made === "function";
