import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

export interface Published {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

/** An npm registry on loopback. `requests` has the paths that were asked for. */
export class Registry {
  readonly requests: string[] = [];
  readonly authorizations: string[] = [];
  readonly #folder: string;
  readonly #tarballs = new Map<string, { readonly bytes: Buffer; readonly manifest: { readonly version: string } }>();
  readonly #server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1);
    this.requests.push(path);
    if (request.headers.authorization !== undefined) this.authorizations.push(request.headers.authorization);
    const [name = "", file] = path.split("/-/");
    const found = this.#tarballs.get(name);
    if (!found) return void response.writeHead(404).end("{}");
    response.end(file === undefined ? JSON.stringify(this.#documentOf(name, found)) : found.bytes);
  });

  constructor(folder: string) {
    this.#folder = folder;
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Packs a package whose files are given. The same version may be published again. */
  async publish(
    manifest: { name: string; version: string },
    files: Readonly<Record<string, string>>,
  ): Promise<Published> {
    const from = join(this.#folder, manifest.name, "package");
    await mkdir(from, { recursive: true });
    await writeFile(join(from, "package.json"), JSON.stringify(manifest));
    for (const [name, text] of Object.entries(files)) await writeFile(join(from, name), text);
    const tgz = join(this.#folder, `${manifest.name}-${manifest.version}.tgz`);
    await promisify(execFile)("tar", ["-czf", tgz, "-C", join(this.#folder, manifest.name), "package"]);
    const bytes = await readFile(tgz);
    this.#tarballs.set(manifest.name, { bytes, manifest });
    const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
    return { name: manifest.name, version: manifest.version, integrity };
  }

  #documentOf(name: string, { manifest, bytes }: { manifest: { readonly version: string }; bytes: Buffer }) {
    const { version } = manifest;
    const shasum = createHash("sha1").update(bytes).digest("hex");
    const dist = { tarball: `${this.url}${name}/-/${name}-${version}.tgz`, shasum };
    return { name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
