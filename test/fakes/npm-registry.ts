import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

export interface Published {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
}

interface Release {
  readonly bytes: Buffer;
  readonly manifest: Manifest;
}

/** An npm registry on loopback. `requests` has the paths that were asked for. */
export class Registry {
  readonly requests: string[] = [];
  readonly authorizations: string[] = [];
  /** Answers in place of the registry; where it says false, the registry answers itself. */
  lie: ((path: string, response: ServerResponse) => boolean) | undefined;
  readonly #folder: string;
  /** By name, then by version; the version published last is `latest`. */
  readonly #releases = new Map<string, Map<string, Release>>();
  readonly #server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1);
    this.requests.push(path);
    if (request.headers.authorization !== undefined) this.authorizations.push(request.headers.authorization);
    if (this.lie?.(path, response) === true) return;
    const [name = "", file] = path.split("/-/");
    const found = this.#releases.get(name);
    if (!found) return void response.writeHead(404).end("{}");
    if (file === undefined) return void response.end(JSON.stringify(this.#documentOf(name, found)));
    const release = [...found.values()].find(({ manifest }) => file.endsWith(`-${manifest.version}.tgz`));
    response.writeHead(release ? 200 : 404).end(release?.bytes);
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
  async publish(manifest: Manifest, files: Readonly<Record<string, string>>): Promise<Published> {
    const from = join(this.#folder, manifest.name, "package");
    await rm(from, { recursive: true, force: true });
    await mkdir(from, { recursive: true });
    await writeFile(join(from, "package.json"), JSON.stringify(manifest));
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(from, name)), { recursive: true });
      await writeFile(join(from, name), text);
    }
    const tgz = join(this.#folder, manifest.name, `${manifest.version}.tgz`);
    await promisify(execFile)("tar", ["-czf", tgz, "-C", join(this.#folder, manifest.name), "package"]);
    return this.publishArchive(manifest, await readFile(tgz));
  }

  /** Publishes an archive as it is. */
  publishArchive(manifest: Manifest, bytes: Buffer): Published {
    const { name, version } = manifest;
    const releases = this.#releases.get(name) ?? new Map<string, Release>();
    releases.delete(version);
    this.#releases.set(name, releases.set(version, { bytes, manifest }));
    return { name, version, integrity: integrityOf(bytes) };
  }

  /** What it says of a package, as JSON. */
  describe(name: string): string {
    return JSON.stringify(this.#documentOf(name, this.#releases.get(name) ?? new Map()));
  }

  #documentOf(name: string, releases: ReadonlyMap<string, Release>) {
    const versions = [...releases].map(([version, { manifest, bytes }]) => {
      const shasum = createHash("sha1").update(bytes).digest("hex");
      const tarball = `${this.url}${name}/-/${name.split("/").at(-1)}-${version}.tgz`;
      const dist = { tarball, shasum, integrity: integrityOf(bytes) };
      return [version, { ...manifest, dist, _npmUser: { name: "ann", email: "ann@example.com" } }] as const;
    });
    const maintainers = [{ name: "ann", email: "ann@example.com" }];
    const latest = versions.at(-1)?.[0];
    return { name, maintainers, "dist-tags": { latest }, versions: Object.fromEntries(versions) };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const integrityOf = (bytes: Buffer): string => `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
